// Kinematics and dynamics of the robot '@name@': C++17 without dependencies, SI units.
//
// No function allocates, throws or iterates without a bound; all may be called from a real-time
// thread, and from several at once with configurations of their own. A configuration is where the
// search for the next one starts: keep one from cycle to cycle. Where a function does not return
// Status::ok, the configuration is as it was, and what it would have written means nothing.
#ifndef @guard@
#define @guard@

namespace pkm::@name@ {

constexpr int actuators = @actuators@;
constexpr int joints = @joints@;
constexpr int parameters = @parameters@;

// Orders of all arrays.
constexpr const char* actuator_names[actuators] = {@actuator_names@};
constexpr const char* joint_names[joints] = {@joint_names@};
constexpr const char* parameter_names[parameters] = {
    @parameter_names@};

// Where an actuator stands among the joints.
constexpr int actuator_joint(int actuator) {
  constexpr int order[actuators] = {@actuator_joints@};
  return order[actuator];
}

// Whether a pose of the platform tells all joints: what takes poses is available then.
constexpr bool platform_determines_joints = @platform@;

enum class Status {
  ok,
  not_converged,  // the loops do not close
  too_far,        // from the configuration to start from: go there in smaller steps
  singular,
  wrong_branch,   // only another assembly than that of home closes there
  not_finite,     // an input is not finite
  not_available,  // for this robot
};

struct Configuration {
  double joints[pkm::@name@::joints];  // [m, rad]
  double position[3];                  // of the platform [m]
  double rotation[9];                  // of the platform, by rows
};

// The configuration at home.
Configuration home() noexcept;

// Joints at a pose of the platform, from a configuration nearby.
Status inverse_kinematics(
    const double* position, const double* rotation, Configuration& at) noexcept;

// Configuration at positions q of the actuators, from one nearby.
Status forward_kinematics(const double* q, Configuration& at) noexcept;

// The same from anywhere: in steps from home, so that the loops stay in the assembly of home.
Status reach(const double* q, Configuration& at) noexcept;

// Forces [N, N m] of the actuators for a motion of the platform: twist and its derivative are
// velocity (3) and angular velocity (3) in the base frame.
Status forces_of_platform(
    const double* position, const double* rotation, const double* twist,
    const double* acceleration, Configuration& at, double* force) noexcept;

// Forces [N, N m] for positions, velocities and accelerations of the actuators.
Status forces_of_actuators(
    const double* q, const double* qd, const double* qdd, Configuration& at,
    double* force) noexcept;

// Forces [N, N m] that hold the robot at rest.
Status gravity(const double* q, Configuration& at, double* force) noexcept;

// Forces per parameter (actuators, parameters), by rows; without friction laws of the drives.
Status regressor(
    const double* q, const double* qd, const double* qdd, Configuration& at,
    double* columns) noexcept;

}  // namespace pkm::@name@

#endif
