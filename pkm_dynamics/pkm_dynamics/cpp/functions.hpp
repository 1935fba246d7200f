// The functions of the header.

Configuration home() noexcept { return Robot::home(); }

namespace {

// Moves a configuration to a pose of the platform; what assembly it is in is not looked at.
Status close(const double* position, const double* rotation, Configuration& here) noexcept {
  if (!Robot::platform_is_independent) return Status::not_available;
  if (!all_finite(position, 3) || !all_finite(rotation, 9)) return Status::not_finite;
  for (int k = 0; k < 3; ++k) here.position[k] = position[k];
  for (int k = 0; k < 9; ++k) here.rotation[k] = rotation[k];
  double before = Robot::largest_step;
  for (int step = 0; step < most_steps; ++step) {
    double longest = 0.0;
    const Status status = close_at_pose(here, longest);
    if (status == Status::singular) return status;
    if (!std::isfinite(longest)) return Status::not_converged;
    if (!shrinks(longest, before)) return Status::too_far;
    if (longest < step_tolerance) return Status::ok;
    before = 0.25 * longest;
  }
  return Status::not_converged;
}

}  // namespace

Status inverse_kinematics(
    const double* position, const double* rotation, Configuration& at) noexcept {
  Configuration here = at;
  Status status = close(position, rotation, here);
  if (status == Status::ok) status = branch_of(here);
  if (status == Status::ok) at = here;
  return status;
}

Status forward_kinematics(const double* q, Configuration& at) noexcept {
  if (!all_finite(q, actuators)) return Status::not_finite;
  Configuration here = at;
  double before = Robot::largest_step;
  for (int step = 0; step < most_steps; ++step) {
    double change[Robot::velocities], gap = 0.0;
    const Status status = actuator_change(here, q, change, gap);
    if (status == Status::singular) return status;
    const double longest = largest_change(change);
    if (!std::isfinite(longest)) return Status::not_converged;
    if (!shrinks(longest, before)) return Status::too_far;
    move(change, here);
    if (longest < step_tolerance) {
      if (!(gap <= Robot::residual_tolerance * (1.0 + Robot::length_scale))) return Status::not_converged;
      place_platform(here);
      if (status == Status::ok) at = here;
      return status;
    }
    before = 0.25 * longest;
  }
  return Status::not_converged;
}

Status reach(const double* q, Configuration& at) noexcept {
  Configuration here = home();
  double start[actuators], next[actuators];
  for (int a = 0; a < actuators; ++a) start[a] = here.joints[actuator_joint(a)];
  for (int step = 1; step <= steps_from_home; ++step) {
    const double share = static_cast<double>(step) / steps_from_home;
    for (int a = 0; a < actuators; ++a) next[a] = start[a] + share * (q[a] - start[a]);
    const Status status = forward_kinematics(next, here);
    if (status != Status::ok) return status;
  }
  at = here;
  return Status::ok;
}

namespace {

// Forces at a configuration for rates of the independent coordinates; fills all rates.
Status forces_at(
    const Configuration& at, const Systems& w, const double* rates, const double* rates_dot,
    double* all, double* all_dot, double* force) noexcept {
  const Status status = tree_forces(at, w, rates, rates_dot, all, all_dot, force);
  if (status != Status::ok) return status;
  add_drive_forces(at, all, force);
  return all_finite(force, actuators) ? Status::ok : Status::singular;
}

}  // namespace

Status forces_of_platform(
    const double* position, const double* rotation, const double* twist,
    const double* acceleration, Configuration& at, double* force) noexcept {
  if (!all_finite(twist, 6) || !all_finite(acceleration, 6)) return Status::not_finite;
  Configuration here = at;
  Status status = close(position, rotation, here);
  if (status != Status::ok) return status;
  Systems w;
  status = linearise(here, w);
  if (status != Status::ok) return status;
  double all[Robot::velocities], all_dot[Robot::velocities];
  status = forces_at(here, w, twist, acceleration, all, all_dot, force);
  if (status == Status::ok) at = here;
  return status;
}

namespace {

// Configuration, its systems, rates of all coordinates and forces for a motion of the actuators.
Status of_actuators(
    const double* q, const double* qd, const double* qdd, Configuration& here, Systems& w,
    double* all, double* all_dot, double* force) noexcept {
  if (!all_finite(qd, actuators) || !all_finite(qdd, actuators)) return Status::not_finite;
  Status status = forward_kinematics(q, here);
  if (status != Status::ok) return status;
  status = linearise(here, w);
  if (status != Status::ok) return status;
  double rates[Robot::independents], rates_dot[Robot::independents];
  independent_rates(here, w, qd, qdd, rates, rates_dot);
  return forces_at(here, w, rates, rates_dot, all, all_dot, force);
}

}  // namespace

Status forces_of_actuators(
    const double* q, const double* qd, const double* qdd, Configuration& at,
    double* force) noexcept {
  Configuration here = at;
  Systems w;
  double all[Robot::velocities], all_dot[Robot::velocities];
  const Status status = of_actuators(q, qd, qdd, here, w, all, all_dot, force);
  if (status == Status::ok) at = here;
  return status;
}

Status gravity(const double* q, Configuration& at, double* force) noexcept {
  const double still[actuators] = {};
  return forces_of_actuators(q, still, still, at, force);
}

Status regressor(
    const double* q, const double* qd, const double* qdd, Configuration& at,
    double* columns) noexcept {
  Configuration here = at;
  Systems w;
  double all[Robot::velocities], all_dot[Robot::velocities], unused[actuators];
  const Status status = of_actuators(q, qd, qdd, here, w, all, all_dot, unused);
  if (status != Status::ok) return status;
  double in[start_of_rates + 2 * Robot::velocities + transfer_inputs];
  put(here, in);
  for (int v = 0; v < Robot::velocities; ++v) {
    in[start_of_rates + v] = all[v];
    in[start_of_rates + Robot::velocities + v] = all_dot[v];
  }
  put_transfer(w, in + start_of_rates + 2 * Robot::velocities);
  double out[Robot::columns_outputs];
  Robot::columns(in, out);
  constexpr int width = 9 + 6 * actuators;
  for (int body = 0; body < Robot::bodies; ++body) {
    double own[10 * actuators];
    Robot::inertial(out + width * body, own);
    for (int a = 0; a < actuators; ++a) {
      for (int k = 0; k < 10; ++k) columns[a * parameters + 10 * body + k] = own[10 * a + k];
    }
  }
  // bodies that spin idly count with their average over the spin
  for (int k = 0; k < Robot::spinning_bodies; ++k) {
    for (int a = 0; a < actuators; ++a) {
      double* const own = columns + a * parameters + Robot::spinning_parameter[k];
      double mean[10] = {};
      for (int i = 0; i < 10; ++i) {
        for (int j = 0; j < 10; ++j) mean[j] += own[i] * Robot::average[100 * k + 10 * i + j];
      }
      for (int j = 0; j < 10; ++j) own[j] = mean[j];
    }
  }
  for (int k = 0; k < Robot::other_parameters; ++k) {
    for (int a = 0; a < actuators; ++a) {
      columns[a * parameters + Robot::other_parameter[k]] =
          out[width * Robot::bodies + k * actuators + a];
    }
  }
  for (int k = 0; k < Robot::drive_terms; ++k) {
    const DriveTerm& term = Robot::terms[k];
    const double share = drive_share(term, here);
    for (int a = 0; a < actuators; ++a) {
      columns[a * parameters + Robot::first_drive_parameter + k] = a == term.actuator ? share : 0.0;
    }
  }
  at = here;
  return Status::ok;
}
