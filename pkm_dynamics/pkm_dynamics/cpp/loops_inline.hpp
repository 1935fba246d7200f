// The loops by generated functions that solve them: nothing is kept between those.
struct Systems {};

inline Status linearise(const Configuration& /*at*/, Systems& /*w*/) noexcept {
  return Status::ok;
}

// Change of all coordinates that would bring the actuators to positions.
inline Status actuator_change(
    const Configuration& here, const double* q, double* change, double& gap) noexcept {
  double in[start_of_rates + actuators], out[Robot::velocities + 2];
  put(here, in);
  for (int a = 0; a < actuators; ++a) in[start_of_rates + a] = q[a];
  Robot::approach(in, out);
  for (int v = 0; v < Robot::velocities; ++v) change[v] = out[v];
  gap = out[Robot::velocities];
  return branch_status(out[Robot::velocities + 1]);
}

// Forces of bodies, friction and rotors for rates of the independent coordinates; all rates.
inline Status tree_forces(
    const Configuration& at, const Systems& /*w*/, const double* rates, const double* rates_dot,
    double* all, double* all_dot, double* force) noexcept {
  double in[start_of_rates + 2 * Robot::independents];
  double out[2 * Robot::velocities + 12 + actuators + 1];
  put(at, in);
  for (int i = 0; i < Robot::independents; ++i) {
    in[start_of_rates + i] = rates[i];
    in[start_of_rates + Robot::independents + i] = rates_dot[i];
  }
  Robot::dynamics(in, out);
  for (int v = 0; v < Robot::velocities; ++v) {
    all[v] = out[v];
    all_dot[v] = out[Robot::velocities + v];
  }
  for (int a = 0; a < actuators; ++a) force[a] = out[2 * Robot::velocities + 12 + a];
  return branch_status(out[2 * Robot::velocities + 12 + actuators]);
}

// `columns` solves the loops itself.
constexpr int transfer_inputs = 0;

inline void put_transfer(const Systems& /*w*/, double* /*transfer*/) noexcept {}
