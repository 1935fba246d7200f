// Kinematics and dynamics of a closed chain on the functions that were generated for it.
//
// Nothing here allocates, throws or iterates without a bound. `Robot` holds the sizes, the arrays
// and the generated functions of one mechanism; a configuration are its joints and the pose of
// its platform.

// A step of Newton this small ends the search: it is made, and leaves its square.
constexpr double step_tolerance = 3e-7;
constexpr int most_steps = 12;  // a start from the last cycle needs two or three
constexpr int steps_from_home = 50;  // of a few per cent of a stroke each

// Turns a rotation (3, 3) by a rotation vector of the base frame.
inline void turn(const double* vector, double* rotation) noexcept {
  const double angle =
      std::sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
  // sin(x) / x and (1 - cos(x)) / x^2, by their series where x is small
  const double square = angle * angle;
  const double s = angle < 1e-4 ? 1.0 - square / 6.0 : std::sin(angle) / angle;
  const double h = std::sin(0.5 * angle);
  const double c = angle < 1e-4 ? 0.5 - square / 24.0 : 2.0 * h * h / square;
  const double x = vector[0], y = vector[1], z = vector[2];
  const double m[9] = {1.0 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y,
                       c * x * y + s * z, 1.0 - c * (x * x + z * z), c * y * z - s * x,
                       c * x * z - s * y, c * y * z + s * x, 1.0 - c * (x * x + y * y)};
  double kept[9];
  for (int k = 0; k < 9; ++k) kept[k] = rotation[k];
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      rotation[3 * i + j] =
          m[3 * i] * kept[j] + m[3 * i + 1] * kept[3 + j] + m[3 * i + 2] * kept[6 + j];
    }
  }
}

inline bool all_finite(const double* values, int count) noexcept {
  for (int k = 0; k < count; ++k) {
    if (!std::isfinite(values[k])) return false;
  }
  return true;
}

// Status of a determinant that is given by its value at home.
inline Status branch_status(double determinant) noexcept {
  if (!(std::fabs(determinant) > Robot::least_determinant)) return Status::singular;
  return determinant > 0.0 ? Status::ok : Status::wrong_branch;
}

inline void put(const Configuration& at, double* in) noexcept {
  for (int k = 0; k < joints; ++k) in[k] = at.joints[k];
  for (int k = 0; k < 3; ++k) in[joints + k] = at.position[k];
  for (int k = 0; k < 9; ++k) in[joints + 3 + k] = at.rotation[k];
}

constexpr int start_of_rates = joints + 12;

inline double largest_change(const double* change) noexcept {
  double longest = 0.0;
  for (int v = 0; v < Robot::velocities; ++v) {
    if (!std::isfinite(change[v])) return change[v];
    longest = std::fmax(longest, std::fabs(change[v]) * Robot::change_factor[v]);
  }
  return longest;
}

inline void move(const double* change, Configuration& at) noexcept {
  for (int k = 0; k < joints; ++k) at.joints[k] += change[Robot::joint_coordinate[k]];
  if (Robot::floating_coordinate < 0) return;
  const double* first = change + Robot::floating_coordinate;
  for (int k = 0; k < 3; ++k) at.position[k] += first[k];
  turn(first + 3, at.rotation);
}

// Platform of a mechanism whose platform hangs on its joints.
inline void place_platform(Configuration& at) noexcept {
  if (Robot::floating_coordinate >= 0) return;
  double in[start_of_rates], out[12];
  put(at, in);
  Robot::pose(in, out);
  for (int k = 0; k < 3; ++k) at.position[k] = out[k];
  for (int k = 0; k < 9; ++k) at.rotation[k] = out[3 + k];
}

// Whether Newton's step shrinks as it does near a solution; slower, it may lead to another
// assembly of the mechanism.
inline bool shrinks(double longest, double before) noexcept {
  return longest <= std::fmax(before, Robot::turn_tolerance);
}

// Sign that Coulomb friction has: linear about standstill.
inline double smoothed_sign(double v) noexcept {
  if (Robot::transition_velocity > 0.0) {
    return std::fmax(-1.0, std::fmin(1.0, v / Robot::transition_velocity));
  }
  return v > 0.0 ? 1.0 : (v < 0.0 ? -1.0 : 0.0);
}

// Friction f(v) of a drive beyond its Coulomb and viscous parts.
inline double law_force(const FrictionLaw& law, double v, double sign) noexcept {
  const double speed = std::fabs(v);
  switch (law.kind) {
    case 1: return law.amplitude * sign * std::exp(-std::pow(speed / law.first, law.second));
    case 2: return law.amplitude * std::atan(law.first * v);
    case 3: return law.amplitude * sign * std::pow(speed, law.first);
    default: return 0.0;
  }
}

// Force of a drive by its position, per unit of its parameter.
inline double drive_share(const DriveTerm& term, const Configuration& at) noexcept {
  const double q = at.joints[Robot::actuated_joint[term.actuator]];
  switch (term.kind) {
    case 1: return q - term.number;
    case 2: return std::cos(q * term.number);
    case 3: return std::sin(q * term.number);
    default: return 1.0;
  }
}

// Forces of the drives by their position, and friction laws.
inline void add_drive_forces(const Configuration& at, const double* all, double* force) noexcept {
  for (int k = 0; k < Robot::drive_terms; ++k) {
    force[Robot::terms[k].actuator] += Robot::terms[k].value * drive_share(Robot::terms[k], at);
  }
  for (int a = 0; a < (Robot::has_laws ? actuators : 0); ++a) {
    const double v = all[Robot::actuated[a]];
    force[a] += law_force(Robot::laws[a], v, smoothed_sign(v));
  }
}
