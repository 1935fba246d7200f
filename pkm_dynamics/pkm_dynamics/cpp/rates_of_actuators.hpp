// The independent coordinates are the actuators': no pose of the platform tells the joints.

inline Status close_at_pose(Configuration& /*here*/, double& /*longest*/) noexcept {
  return Status::singular;
}

inline Status branch_of(const Configuration& /*at*/) noexcept { return Status::not_available; }

// Rates of the independent coordinates for those of the actuators.
inline void independent_rates(
    const Configuration& /*at*/, const Systems& /*w*/, const double* qd, const double* qdd,
    double* rates, double* rates_dot) noexcept {
  for (int a = 0; a < actuators; ++a) {
    rates[a] = qd[a];
    rates_dot[a] = qdd[a];
  }
}
