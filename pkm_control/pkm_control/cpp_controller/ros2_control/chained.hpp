// The controller of '@name@' in a chain of controllers, without ROS: references that come number by
// number, late or not at all; states that could not be read; a stop that another thread asks for.
#ifndef @guard@
#define @guard@

#include "@name@_controller.hpp"

#include <atomic>
#include <cmath>
#include <limits>

namespace pkm::@name@ {

// Name of an option that cannot be, or none (nullptr).
inline const char* invalid_option(const ControllerOptions& options) noexcept {
@checks@  if (Controller::contradict(options)) return "max_position_error";
  return nullptr;
}

class ChainedController {
 public:
  // References of all actuators: position, velocity, acceleration of the first, then of the next.
  static constexpr int references = 3 * actuators;

  // A reference is followed on with its acceleration for up to `timeout` [s], then the robot stops.
  explicit ChainedController(const ControllerOptions& options = {}, double timeout = @timeout@)
      noexcept : controller_(options), longest_gap_(options.max_interval), timeout_(timeout) {}

  // Holds the robot where it is measured, coming to rest if it moves; false where it cannot.
  bool activate(const double* measured, const double* velocity) noexcept {
    clock_ = read_at_ = reference_at_ = 0.0;
    stop_asked_ = false;
    last_ = StepResult();
    for (double& each : last_command_) each = 0.0;
    return controller_.activate(clock_, measured, velocity);
  }

  // Brings the robot to rest in the next cycle; any thread may ask.
  void ask_stop() noexcept { stop_asked_ = true; }

  // One cycle, `period` [s] after the last one. `measured` is NaN where an actuator could not be
  // read: forces stay for up to `max_interval`. `reference` (references) is NaN where nothing was
  // written, and after the call. Velocities or accelerations that nobody writes count as zero.
  StepResult update(
      double period, const double* measured, double* reference, double* command) noexcept {
    clock_ += period;
    const bool asked = stop_asked_.exchange(false);
    if (asked) controller_.stop();
    bool read = true;
    for (int a = 0; a < actuators; ++a) read = read && std::isfinite(measured[a]);
    if (!read && clock_ - read_at_ <= longest_gap_) {
      for (int a = 0; a < actuators; ++a) command[a] = last_command_[a];
      return last_;
    }
    read_at_ = clock_;
    last_ = controller_.step(clock_, measured, taken(reference), command);
    for (int a = 0; a < actuators; ++a) last_command_[a] = command[a];
    return last_;
  }

  // Forces to leave with the drives when the cycles end.
  void release(const double* measured, double* command) noexcept {
    controller_.release(measured, command);
  }

 private:
  static constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

  // What is to be followed in this cycle; none (nullptr) where there is nothing.
  const Reference* taken(double* reference) noexcept {
    bool written[3] = {false, false, false};
    for (int k = 0; k < references; ++k) written[k % 3] = written[k % 3] || !std::isnan(reference[k]);
    if (written[0]) {
      for (int a = 0; a < actuators; ++a) {
        received_.position[a] = reference[3 * a];
        received_.velocity[a] = written[1] ? reference[3 * a + 1] : 0.0;
        received_.acceleration[a] = written[2] ? reference[3 * a + 2] : 0.0;
      }
      reference_at_ = clock_;
    }
    for (int k = 0; k < references; ++k) reference[k] = nothing;
    if (written[0]) return &received_;
    const double age = clock_ - reference_at_;
    if (controller_.phase() != Phase::following || age > timeout_) return nullptr;
    for (int a = 0; a < actuators; ++a) {
      const double acceleration = received_.acceleration[a];
      continued_.position[a] =
          received_.position[a] + age * (received_.velocity[a] + 0.5 * age * acceleration);
      continued_.velocity[a] = received_.velocity[a] + age * acceleration;
      continued_.acceleration[a] = acceleration;
    }
    return &continued_;
  }

  Controller controller_;
  double longest_gap_, timeout_;
  double clock_ = 0.0, read_at_ = 0.0, reference_at_ = 0.0;
  std::atomic<bool> stop_asked_{false};
  StepResult last_;
  double last_command_[actuators] = {};
  Reference received_ = {}, continued_ = {};
};

}  // namespace pkm::@name@

#endif
