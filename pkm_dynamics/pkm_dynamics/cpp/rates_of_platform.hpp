// The independent coordinates are the platform's.

// Moves the joints so that the loops close at a given pose of the platform.
inline Status close_at_pose(Configuration& here, double& longest) noexcept {
  double in[start_of_rates], out[joints + 1];
  put(here, in);
  Robot::newton(in, out);
  for (int k = 0; k < joints; ++k) here.joints[k] = out[k];
  longest = out[joints];
  return Status::ok;
}

// Which assembly a configuration belongs to.
inline Status branch_of(const Configuration& at) noexcept {
  double in[start_of_rates], out[1];
  put(at, in);
  Robot::branch(in, out);
  return branch_status(out[0]);
}

// Rates of the independent coordinates for those of the actuators.
inline void independent_rates(
    const Configuration& at, const Systems& /*w*/, const double* qd, const double* qdd,
    double* rates, double* rates_dot) noexcept {
  double in[start_of_rates + 2 * actuators], out[2 * Robot::velocities + 12];
  put(at, in);
  for (int a = 0; a < actuators; ++a) {
    in[start_of_rates + a] = qd[a];
    in[start_of_rates + actuators + a] = qdd[a];
  }
  Robot::actuated_rates(in, out);
  for (int i = 0; i < Robot::independents; ++i) {
    rates[i] = out[Robot::independent[i]];
    rates_dot[i] = out[Robot::velocities + Robot::independent[i]];
  }
}
