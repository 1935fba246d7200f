// The control cycle of the robot '@name@': PD on the actuators, forces of the model, bounds, stops.
//
// One call of `step` a cycle, with what is measured and what is desired of the actuators. Nothing
// allocates, throws or waits. It is no certified safety function: brakes, limit switches and the
// drives' own supervision stay in charge.
#ifndef @guard@
#define @guard@

#include "@name@_force_table.hpp"
#include "@name@_model.hpp"

#include <cmath>
#include <limits>

namespace pkm::@name@ {

// A `max_position_error` of 0 [m, rad] stands for that of each joint, by its unit and stroke, and a
// `fault_position_error` of 0 for twice the larger of both.
struct ControllerOptions {
@options@};

struct Reference {
  double position[actuators];      // [m, rad]
  double velocity[actuators];      // [m/s, rad/s]
  double acceleration[actuators];  // [m/s^2, rad/s^2]
};

enum class Phase {
  off,        // zero force: brakes must bear the robot
  holding,    // where it was activated, or where the last reference was
  following,  // a reference
  stopping,   // to rest; references do not count any more
  resting,    // after that, with the forces that hold the robot, until it is activated again
};

enum class Reason {
  none,
  asked,           // `stop` was called
  tracking_bound,  // `max_position_error` is exceeded
  tracking_fault,  // `fault_position_error`, or at rest `max_position_error`
  stroke_left,
  overspeed,
  model_failed,  // forces cannot be computed for the reference
  bad_reference,  // not finite
  runaway,        // `fault_position_error` while the robot stops: off at once
  bad_state,      // measured positions or times that cannot be: off at once
  reference_ended,
};

struct StepResult {
  Phase phase = Phase::off;
  Reason reason = Reason::none;  // why the robot stops or is off
  Status status = Status::ok;    // of the model
  bool saturated = false;        // a force is at its limit, or changes as fast as it may
  bool harmful = false;          // learned forces did harm, and fade or have faded
};

class Controller {
 public:
  explicit Controller(const ControllerOptions& options = {}) noexcept : options_(options) {}

  // Whether a position error would end the commands before it ends a motion.
  static bool contradict(const ControllerOptions& options) noexcept {
    for (int a = 0; a < actuators; ++a) {
      if (largest_error(options, a) > fault_error(options, a)) return true;
    }
    return false;
  }

  // Hold the robot where it is measured or, with a velocity, where it comes to rest from there;
  // false, and off, where that is no configuration.
  bool activate(double time, const double* measured, const double* velocity = nullptr) noexcept {
    phase_ = Phase::off;
    reason_ = Reason::none;
    if (!std::isfinite(time) || reach(measured, at_) != Status::ok) return false;
    for (int a = 0; a < actuators; ++a) {
      desired_.position[a] = measured[a];
      desired_.velocity[a] = desired_.acceleration[a] = 0.0;
    }
    if (gravity(measured, at_, model_force_) != Status::ok) return false;
    forget();
    has_command_ = false;
    last_time_ = time;
    fast_for_ = 0.0;
    coasting_ = false;
    learned_.begin();
    if (velocity != nullptr) {
      double limited[actuators];
      for (int a = 0; a < actuators; ++a) {
        const double speed = std::isfinite(velocity[a]) ? velocity[a] : 0.0;
        limited[a] = std::fmax(-velocity_limit[a], std::fmin(velocity_limit[a], speed));
      }
      begin_stop(Reason::none, measured, limited, options_.stop_time);
    }
    phase_ = Phase::holding;
    return true;
  }

  // Bring the robot to rest from where it is desired to be, and stay there.
  void stop() noexcept {
    if (phase_ == Phase::following || phase_ == Phase::holding) {
      begin_stop(Reason::asked, desired_.position, desired_.velocity, options_.stop_time);
    }
  }

  void power_off() noexcept {
    if (phase_ != Phase::off) turn_off(Reason::asked);
  }

  // Forces `command` to leave with the drives when `step` is not called any more, and off: those
  // that hold the robot where it is measured or, failing that, where it is desired. No servo
  // corrects them: brakes must close, or friction bear what they are off. Zero where it was off.
  void release(const double* measured, double* command) noexcept {
    for (int a = 0; a < actuators; ++a) command[a] = 0.0;
    if (phase_ == Phase::off) return;
    phase_ = Phase::off;
    if (gravity(measured, at_, force_) != Status::ok &&
        gravity(desired_.position, at_, force_) != Status::ok) {
      return;
    }
    for (int a = 0; a < actuators; ++a) {
      command[a] = std::fmax(-force_limit[a], std::fmin(force_limit[a], force_[a]));
    }
  }

  // A repetition of a motion begins, at rest: learned forces that have faded may be added again.
  void begin_repetition() noexcept { learned_.begin(); }

  // Add forces of a table in the next call of `step`, if it has a reference: those at a `time` [s]
  // along the motion, with a weight in [0, 1]; with less than 1 they are not watched. Without this
  // call, on a stop and where they do harm they fade. False where they are not added.
  bool add(const ForceTable& table, double time, double weight = 1.0) noexcept {
    return learned_.add(table, time, weight);
  }

  // Forces `command` for what is measured at `time` [s]. Without a reference the robot holds; one
  // that follows comes to rest.
  StepResult step(
      double time, const double* measured, const Reference* reference, double* command) noexcept {
    for (int a = 0; a < actuators; ++a) command[a] = 0.0;
    StepResult result;
    if (phase_ == Phase::off) return off();
    const double interval = time - last_time_;
    bool valid = std::isfinite(time) && interval >= 0.0 && interval <= options_.max_interval;
    for (int a = 0; a < actuators; ++a) valid = valid && std::isfinite(measured[a]);
    if (!valid) {
      turn_off(Reason::bad_state);
      return off();
    }
    last_time_ = time;
    desire(time, reference);
    result.status = forces_of_actuators(
        desired_.position, desired_.velocity, desired_.acceleration, at_, force_);
    if (result.status == Status::ok) {
      for (int a = 0; a < actuators; ++a) model_force_[a] = force_[a];
    } else if (phase_ == Phase::following || phase_ == Phase::holding) {
      brake(measured, Reason::model_failed);
      desire(time, nullptr);
    }
    double error[actuators];
    for (int a = 0; a < actuators; ++a) error[a] = desired_.position[a] - measured[a];
    feed_back(interval, error);
    learned_.forces(phase_ == Phase::following, learned_force_);
    learned_.take(interval, error);
    result.harmful = learned_.harmful();
    result.saturated = limit(interval, command);
    supervise(interval, measured, error);
    if (phase_ == Phase::off) {
      for (int a = 0; a < actuators; ++a) command[a] = 0.0;
      return off();
    }
    result.phase = phase_;
    result.reason = reason_;
    return result;
  }

  Phase phase() const noexcept { return phase_; }
  // Of the servo's bandwidth, what late cycles leave.
  double bandwidth_share() const noexcept { return share_; }
  const Reference& desired() const noexcept { return desired_; }

 private:
  static constexpr double unbounded = std::numeric_limits<double>::infinity();
  static constexpr double pi = 3.14159265358979323846;
  static constexpr double held_damping = @held_damping@;
  static constexpr double memory = @memory@;  // [s]
  static constexpr double braking_share = @braking_share@;
  static constexpr double smooth_peak = @smooth_peak@;
  static constexpr double proportional[actuators] = {@proportional@};
  static constexpr double derivative[actuators] = {@derivative@};
  static constexpr double inertia[actuators] = {@inertia@};
  static constexpr double force_limit[actuators] = {@force_limit@};
  static constexpr double velocity_limit[actuators] = {@velocity_limit@};
  static constexpr double lower[actuators] = {@lower@};
  static constexpr double upper[actuators] = {@upper@};
  static constexpr double own_error[actuators] = {@own_error@};  // [m, rad] by unit and stroke
  static constexpr double fault_share = @fault_share@;

  static double largest_error(const ControllerOptions& options, int a) noexcept {
    return options.max_position_error > 0.0 ? options.max_position_error : own_error[a];
  }

  static double fault_error(const ControllerOptions& options, int a) noexcept {
    const double given = options.fault_position_error;
    const double largest = std::fmax(largest_error(options, a), own_error[a]);
    return given > 0.0 ? given : fault_share * largest;
  }

  StepResult off() const noexcept {
    StepResult result;
    result.reason = reason_;
    return result;
  }

  void turn_off(Reason reason) noexcept {
    phase_ = Phase::off;
    reason_ = reason;
  }

  // Forget the past errors; the next one counts as at rest.
  void forget() noexcept {
    fresh_ = true;
    held_ = 0.0;
    share_ = 1.0;
    for (int a = 0; a < actuators; ++a) rate_[a] = feedback_[a] = 0.0;
  }

  // What is desired at a time.
  void desire(double time, const Reference* reference) noexcept {
    if (phase_ == Phase::following || phase_ == Phase::holding) {
      if (reference != nullptr) {
        bool finite = true;
        for (int a = 0; a < actuators; ++a) {
          finite = finite && std::isfinite(reference->position[a]) &&
                   std::isfinite(reference->velocity[a]) &&
                   std::isfinite(reference->acceleration[a]);
        }
        if (finite) {
          desired_ = *reference;
          phase_ = Phase::following;
          coasting_ = false;
          return;
        }
        begin_stop(Reason::bad_reference, desired_.position, desired_.velocity,
                   options_.stop_time);
      } else if (phase_ == Phase::following) {
        begin_stop(Reason::reference_ended, desired_.position, desired_.velocity,
                   options_.stop_time);
      }
    }
    if (phase_ == Phase::stopping || coasting_) {
      if (!stop_begun_) {
        stop_begun_ = true;
        stop_from_ = time;
      }
      const double u = std::fmin((time - stop_from_) / stop_duration_, 1.0);
      const double blend = u * u * u * (10.0 - 15.0 * u + 6.0 * u * u);
      const double slope = 30.0 * u * u * (1.0 - u) * (1.0 - u);
      const double area = u * u * u * u * (2.5 - 3.0 * u + u * u);
      for (int a = 0; a < actuators; ++a) {
        desired_.position[a] = stop_position_[a] + stop_duration_ * (u - area) * stop_velocity_[a];
        desired_.velocity[a] = (1.0 - blend) * stop_velocity_[a];
        desired_.acceleration[a] = -slope / stop_duration_ * stop_velocity_[a];
      }
      if (u >= 1.0 && phase_ == Phase::stopping) phase_ = Phase::resting;
    }
  }

  void begin_stop(
      Reason reason, const double* position, const double* velocity, double duration) noexcept {
    for (int a = 0; a < actuators; ++a) {
      stop_position_[a] = position[a];
      stop_velocity_[a] = velocity[a];
    }
    stop_duration_ = duration;
    stop_begun_ = false;
    coasting_ = reason == Reason::none;
    reason_ = reason;
    phase_ = Phase::stopping;
  }

  // To rest from where the actuators are measured, off any path, as fast as the drives can.
  void brake(const double* measured, Reason reason) noexcept {
    double position[actuators], velocity[actuators];
    double needed = options_.reaction_time;
    for (int a = 0; a < actuators; ++a) {
      // An error within its bound stays, since it may bear the robot; a larger one is dropped.
      const double wanted = desired_.position[a];
      const bool small = std::fabs(wanted - measured[a]) <= largest_error(options_, a);
      position[a] = small ? wanted : measured[a];
      const double speed = desired_.velocity[a] - rate_[a];
      velocity[a] = std::fmax(-velocity_limit[a], std::fmin(velocity_limit[a], speed));
      const double deceleration = braking_share * force_limit[a] / inertia[a];
      needed = std::fmax(needed, smooth_peak * std::fabs(velocity[a]) / deceleration);
    }
    begin_stop(reason, position, velocity, std::fmin(needed, options_.stop_time));
    forget();
  }

  // PD whose derivative is behind a low pass, solved exactly for the interval; the bandwidth
  // shrinks to what the longest interval of late allows in which a force was held.
  void feed_back(double interval, const double* error) noexcept {
    const double w = 2.0 * pi * options_.velocity_cutoff;
    const double damping = w / std::sqrt(2.0);
    if (fresh_) {
      for (int a = 0; a < actuators; ++a) {
        filtered_[a] = latest_[a] = error[a];
        rate_[a] = 0.0;
      }
      fresh_ = false;
    }
    if (interval > 0.0) {
      const double fade = std::exp(-damping * interval), angle = damping * interval;
      const double cosine = fade * std::cos(angle), sine = fade * std::sin(angle);
      for (int a = 0; a < actuators; ++a) {
        const double slope = (error[a] - latest_[a]) / interval;
        const double offset = filtered_[a] - latest_[a] + slope / damping;
        const double excess = rate_[a] - slope;
        filtered_[a] =
            error[a] - slope / damping + offset * cosine + (excess / damping + offset) * sine;
        rate_[a] = slope + excess * cosine - (excess + 2.0 * damping * offset) * sine;
        latest_[a] = error[a];
      }
    }
    held_ = std::fmax(interval, held_ * std::exp(-interval / memory));
    share_ = 1.0;
    for (int a = 0; a < actuators; ++a) {
      const double lost = derivative[a] / inertia[a] * held_;
      const double share = held_damping / std::fmax(lost, held_damping);
      share_ = std::fmin(share_, share);
      feedback_[a] = share * share * proportional[a] * error[a] + share * derivative[a] * rate_[a];
    }
  }

  // Clamps forces and how fast they change; whether any was clamped.
  bool limit(double interval, double* command) noexcept {
    bool clamped = false;
    for (int a = 0; a < actuators; ++a) {
      const double wanted = model_force_[a] + learned_force_[a] + feedback_[a];
      double value = std::fmax(-force_limit[a], std::fmin(force_limit[a], wanted));
      if (has_command_ && options_.force_rise_time > 0.0 && std::isfinite(force_limit[a])) {
        const double change = force_limit[a] * (interval / options_.force_rise_time);
        value = std::fmax(last_command_[a] - change, std::fmin(last_command_[a] + change, value));
      }
      clamped = clamped || value != wanted;
      command[a] = last_command_[a] = value;
    }
    has_command_ = true;
    return clamped;
  }

  void supervise(double interval, const double* measured, const double* error) noexcept {
    const bool moving = phase_ == Phase::following || phase_ == Phase::stopping;
    bool off_path = false, far_off = false, fast = false, outside = false;
    for (int a = 0; a < actuators; ++a) {
      off_path = off_path || std::fabs(error[a]) > largest_error(options_, a);
      far_off = far_off || std::fabs(error[a]) > fault_error(options_, a);
      const double speed = std::fabs(desired_.velocity[a] - rate_[a]);
      fast = fast || speed > options_.overspeed * velocity_limit[a];
      outside = outside || measured[a] < lower[a] - options_.stroke_tolerance ||
                measured[a] > upper[a] + options_.stroke_tolerance;
    }
    fast_for_ = fast ? fast_for_ + interval : 0.0;
    const bool too_fast = fast && fast_for_ >= options_.reaction_time;
    if (phase_ == Phase::stopping || phase_ == Phase::resting) {
      if (far_off) turn_off(Reason::runaway);
      return;
    }
    if (moving ? far_off : off_path) {
      brake(measured, Reason::tracking_fault);
    } else if (too_fast) {
      brake(measured, Reason::overspeed);
    } else if (moving && off_path) {
      begin_stop(Reason::tracking_bound, desired_.position, desired_.velocity,
                 options_.stop_time);
    } else if (moving && outside) {
      begin_stop(Reason::stroke_left, desired_.position, desired_.velocity, options_.stop_time);
    }
  }

  ControllerOptions options_;
  Configuration at_ = home();
  Reference desired_ = {};
  Phase phase_ = Phase::off;
  Reason reason_ = Reason::none;
  double last_time_ = 0.0;
  double force_[actuators] = {}, model_force_[actuators] = {}, feedback_[actuators] = {};
  LearnedForces learned_;
  double learned_force_[actuators] = {};
  double filtered_[actuators] = {}, rate_[actuators] = {}, latest_[actuators] = {};
  double last_command_[actuators] = {};
  double stop_position_[actuators] = {}, stop_velocity_[actuators] = {};
  double stop_duration_ = 1.0, stop_from_ = 0.0;
  double held_ = 0.0, share_ = 1.0, fast_for_ = 0.0;
  bool fresh_ = true, has_command_ = false, stop_begun_ = false;
  bool coasting_ = false;  // holding, but still on the way to rest
};

}  // namespace pkm::@name@

#endif
