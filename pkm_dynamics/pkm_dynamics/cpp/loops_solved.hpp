// The loops by linear systems that are solved here: components that are too large for the
// generated functions.

constexpr int at_least_one(int n) { return n > 0 ? n : 1; }

// Factors `a` (n, n) in place, rows exchanged as `pivots` say; returns the determinant.
inline double factor(double* a, int n, int* pivots) noexcept {
  double determinant = 1.0;
  for (int k = 0; k < n; ++k) {
    int best = k;
    for (int i = k + 1; i < n; ++i) {
      if (std::fabs(a[i * n + k]) > std::fabs(a[best * n + k])) best = i;
    }
    pivots[k] = best;
    if (best != k) {
      determinant = -determinant;
      for (int j = 0; j < n; ++j) {
        const double kept = a[k * n + j];
        a[k * n + j] = a[best * n + j];
        a[best * n + j] = kept;
      }
    }
    determinant *= a[k * n + k];
    for (int i = k + 1; i < n; ++i) {
      a[i * n + k] /= a[k * n + k];
      for (int j = k + 1; j < n; ++j) a[i * n + j] -= a[i * n + k] * a[k * n + j];
    }
  }
  return determinant;
}

// Solves with the factors of a matrix; `x` (n) holds the right side, then the solution.
inline void solve(const double* a, int n, const int* pivots, double* x) noexcept {
  for (int k = 0; k < n; ++k) {
    const double kept = x[k];
    x[k] = x[pivots[k]];
    x[pivots[k]] = kept;
  }
  for (int i = 1; i < n; ++i) {
    for (int k = 0; k < i; ++k) x[i] -= a[i * n + k] * x[k];
  }
  for (int k = n - 1; k >= 0; --k) {
    for (int j = k + 1; j < n; ++j) x[k] -= a[k * n + j] * x[j];
    x[k] /= a[k * n + k];
  }
}

// The same with the transposed matrix.
inline void solve_transposed(const double* a, int n, const int* pivots, double* x) noexcept {
  for (int k = 0; k < n; ++k) {
    for (int j = 0; j < k; ++j) x[k] -= a[j * n + k] * x[j];
    x[k] /= a[k * n + k];
  }
  for (int k = n - 2; k >= 0; --k) {
    for (int i = k + 1; i < n; ++i) x[k] -= a[i * n + k] * x[i];
  }
  for (int k = n - 1; k >= 0; --k) {
    const double kept = x[k];
    x[k] = x[pivots[k]];
    x[pivots[k]] = kept;
  }
}

// Linear systems of the closing rows, solved: dependent rates from independent ones.
struct Systems {
  double values[Robot::systems_outputs];
  double factors[at_least_one(Robot::components)]
                [at_least_one(Robot::largest_component * Robot::largest_component)];
  int pivots[at_least_one(Robot::components)][at_least_one(Robot::largest_component)];
  double mapping[Robot::velocities * Robot::independents];
  double actuation[actuators * actuators];
  int actuation_pivots[actuators];
};

// Solves the systems at a configuration.
inline Status linearise(const Configuration& at, Systems& w) noexcept {
  double in[start_of_rates];
  put(at, in);
  Robot::systems(in, w.values);
  constexpr int n_i = Robot::independents;
  Status status = Status::ok;
  for (double& each : w.mapping) each = 0.0;
  for (int i = 0; i < n_i; ++i) w.mapping[Robot::independent[i] * n_i + i] = 1.0;
  int entry = Robot::rows, coupling = Robot::rows;
  for (int c = 0; c < Robot::components; ++c) {
    const int n = Robot::component_start[c + 1] - Robot::component_start[c];
    coupling += n * n;
  }
  for (int c = 0; c < Robot::components; ++c) {
    const int start = Robot::component_start[c];
    const int n = Robot::component_start[c + 1] - start;
    for (int k = 0; k < n * n; ++k) w.factors[c][k] = w.values[entry++];
    const double determinant = factor(w.factors[c], n, w.pivots[c]);
    const Status found = branch_status(determinant / Robot::component_determinant[c]);
    if (found == Status::singular) return found;
    if (found != Status::ok) status = found;
    for (int k = 0; k < n_i; ++k) {
      double right[at_least_one(Robot::largest_component)];
      for (int i = 0; i < n; ++i) right[i] = -w.values[coupling + n_i * (start + i) + k];
      solve(w.factors[c], n, w.pivots[c], right);
      for (int i = 0; i < n; ++i) {
        w.mapping[Robot::component_coordinates[start + i] * n_i + k] = right[i];
      }
    }
  }
  if (!Robot::platform_is_independent) return status;
  for (int a = 0; a < actuators; ++a) {
    for (int i = 0; i < n_i; ++i) {
      w.actuation[a * n_i + i] = w.mapping[Robot::actuated[a] * n_i + i];
    }
  }
  const double determinant = factor(w.actuation, actuators, w.actuation_pivots);
  const Status found = branch_status(determinant / Robot::actuation_determinant);
  return found == Status::ok ? status : found;
}

// Dependent entries of `out` that answer the values of the chosen rows.
inline void answer(const Systems& w, const double* chosen, double* out) noexcept {
  for (int c = 0; c < Robot::components; ++c) {
    const int start = Robot::component_start[c];
    const int n = Robot::component_start[c + 1] - start;
    double right[at_least_one(Robot::largest_component)];
    for (int i = 0; i < n; ++i) right[i] = -chosen[start + i];
    solve(w.factors[c], n, w.pivots[c], right);
    for (int i = 0; i < n; ++i) out[Robot::component_coordinates[start + i]] = right[i];
  }
}

// Change of the dependent coordinates that closes the loops; returns the largest residual.
inline double closing_change(const Systems& w, double* change) noexcept {
  double gap = 0.0;
  for (int k = 0; k < Robot::rows; ++k) gap = std::fmax(gap, std::fabs(w.values[k]));
  double chosen[at_least_one(Robot::dependents)];
  for (int k = 0; k < Robot::dependents; ++k) chosen[k] = w.values[Robot::component_rows[k]];
  for (int k = 0; k < Robot::velocities; ++k) change[k] = 0.0;
  answer(w, chosen, change);
  return gap;
}

inline void add_mapped(const Systems& w, const double* independent, double* out) noexcept {
  for (int v = 0; v < Robot::velocities; ++v) {
    for (int i = 0; i < Robot::independents; ++i) {
      out[v] += w.mapping[v * Robot::independents + i] * independent[i];
    }
  }
}

// Rates (n_v) of all coordinates, and their derivatives, from the independent ones.
inline void complete(
    const Configuration& at, const Systems& w, const double* rates, const double* rates_dot,
    double* all, double* all_dot) noexcept {
  double in[start_of_rates + 2 * Robot::velocities];
  put(at, in);
  for (int v = 0; v < Robot::velocities; ++v) all[v] = all_dot[v] = 0.0;
  add_mapped(w, rates, all);
  for (int v = 0; v < Robot::velocities; ++v) {
    in[start_of_rates + v] = all[v];
    in[start_of_rates + Robot::velocities + v] = 0.0;
  }
  double chosen[at_least_one(Robot::dependents)];
  Robot::bias(in, chosen);
  answer(w, chosen, all_dot);
  add_mapped(w, rates_dot, all_dot);
}

// Moves the joints so that the loops close at a given pose of the platform.
inline Status close_at_pose(Configuration& here, double& longest) noexcept {
  Systems w;
  double change[Robot::velocities];
  const Status status = linearise(here, w);
  if (status == Status::singular) return status;
  closing_change(w, change);
  longest = largest_change(change);
  for (int k = 0; k < joints; ++k) here.joints[k] += change[Robot::joint_coordinate[k]];
  return status;
}

// Change of all coordinates that would bring the actuators to positions.
inline Status actuator_change(
    const Configuration& here, const double* q, double* change, double& gap) noexcept {
  Systems w;
  const Status status = linearise(here, w);
  if (status == Status::singular) return status;
  gap = closing_change(w, change);
  double missing[actuators];
  for (int a = 0; a < actuators; ++a) {
    missing[a] = q[a] - here.joints[Robot::actuated_joint[a]] - change[Robot::actuated[a]];
  }
  if (Robot::platform_is_independent) solve(w.actuation, actuators, w.actuation_pivots, missing);
  add_mapped(w, missing, change);
  return status;
}

// Rates of the independent coordinates for those of the actuators.
inline void independent_rates(
    const Configuration& at, const Systems& w, const double* qd, const double* qdd, double* rates,
    double* rates_dot) noexcept {
  for (int a = 0; a < actuators; ++a) {
    rates[a] = qd[a];
    rates_dot[a] = qdd[a];
  }
  if (!Robot::platform_is_independent) return;
  const double still[Robot::independents] = {};
  double all[Robot::velocities], bias[Robot::velocities];
  solve(w.actuation, actuators, w.actuation_pivots, rates);
  complete(at, w, rates, still, all, bias);
  for (int a = 0; a < actuators; ++a) rates_dot[a] -= bias[Robot::actuated[a]];
  solve(w.actuation, actuators, w.actuation_pivots, rates_dot);
}

// Forces of bodies, friction and rotors for rates of the independent coordinates; all rates.
inline Status tree_forces(
    const Configuration& at, const Systems& w, const double* rates, const double* rates_dot,
    double* all, double* all_dot, double* force) noexcept {
  complete(at, w, rates, rates_dot, all, all_dot);
  double in[start_of_rates + 2 * Robot::velocities], out[12 + Robot::velocities];
  put(at, in);
  for (int v = 0; v < Robot::velocities; ++v) {
    in[start_of_rates + v] = all[v];
    in[start_of_rates + Robot::velocities + v] = all_dot[v];
  }
  Robot::forces(in, out);
  for (int i = 0; i < Robot::independents; ++i) {
    force[i] = 0.0;
    for (int v = 0; v < Robot::velocities; ++v) {
      force[i] += w.mapping[v * Robot::independents + i] * out[12 + v];
    }
  }
  if (Robot::platform_is_independent) {
    solve_transposed(w.actuation, actuators, w.actuation_pivots, force);
  }
  return Status::ok;
}

// Further inputs of `columns`: rates (velocities, actuators) of all coordinates by the actuators'.
constexpr int transfer_inputs = Robot::velocities * actuators;

inline void put_transfer(const Systems& w, double* transfer) noexcept {
  for (int a = 0; a < actuators; ++a) {
    double unit[actuators] = {};
    unit[a] = 1.0;
    if (Robot::platform_is_independent) solve(w.actuation, actuators, w.actuation_pivots, unit);
    double column[Robot::velocities] = {};
    add_mapped(w, unit, column);
    for (int v = 0; v < Robot::velocities; ++v) transfer[v * actuators + a] = column[v];
  }
}

// Which assembly a configuration belongs to.
inline Status branch_of(const Configuration& at) noexcept {
  Systems w;
  return linearise(at, w);
}
