// Forces that repetitions of a motion have taught, in the control cycle of the robot '@name@'.
//
// They fade where they do harm, by Page's test of the error that was not expected, as in Python.
// Nothing allocates, throws or waits.
#ifndef @guard@
#define @guard@

#include "@name@_model.hpp"

#include <cmath>
#include <limits>

namespace pkm::@name@ {

// Over the time along a motion, on lines between its points; of a period again and again, else zero
// outside. It owns nothing: what it points to must outlive it.
struct ForceTable {
  // Of a row: force [N, N m]; then, over the noise of the error there [sqrt(Hz)], the error that is
  // expected, what the force takes off it, and the error with the model alone.
  static constexpr int columns = 4 * actuators;

  bool periodic;
  double interval;      // [s] between two points
  int count;            // of points, two at least
  const double* rows;   // (count, columns)
  const double* limit;  // (actuators) [N, N m] of the forces
  const double* scale;  // (actuators) [sqrt(Hz)/m, sqrt(Hz)/rad] of errors; none: nothing is watched

  constexpr bool valid() const noexcept {
    return interval > 0.0 && count >= 2 && rows != nullptr && limit != nullptr;
  }
  constexpr double duration() const noexcept { return interval * (count - 1); }

  // The row at a time [s]; whether there is one.
  bool at(double time, double* row) const noexcept {
    double place = time / interval;
    const bool outside = !(place >= 0.0 && place <= count - 1);
    if (periodic) {
      place = std::fmod(place, count);
      if (place < 0.0) place += count;
    } else if (outside) {
      for (int c = 0; c < columns; ++c) row[c] = 0.0;
      return false;
    }
    const int last = periodic ? count - 1 : count - 2;
    const int index = place < last ? static_cast<int>(place) : last;
    const double share = place - index;
    const double* here = rows + static_cast<long>(columns) * index;
    const double* next = rows + static_cast<long>(columns) * ((index + 1) % count);
    for (int c = 0; c < columns; ++c) row[c] = (1.0 - share) * here[c] + share * next[c];
    return true;
  }
};

class LearnedForces {
 public:
  // A repetition begins: what the last one has shown does not count.
  void begin() noexcept {
    harmful_ = pending_ = false;
    less_ = more_ = time_ = 0.0;
    left_ = 1.0;
    for (int a = 0; a < actuators; ++a) {
      value_[a] = block_[0][a] = block_[1][a] = block_[2][a] = 0.0;
    }
  }

  // Forces for the next cycle; see `Controller::add`.
  bool add(const ForceTable& table, double time, double weight) noexcept {
    pending_ = table.valid() && std::isfinite(time) && weight >= 0.0 && weight <= 1.0;
    if (!pending_) return false;
    inside_ = table.at(time, row_);
    for (int c = 0; c < ForceTable::columns; ++c) pending_ = pending_ && std::isfinite(row_[c]);
    weight_ = weight;
    limit_ = table.limit;
    scale_ = table.scale;
    return pending_ && !harmful_;
  }

  // Forces of this cycle; those of the latest one fade where the robot does not follow.
  void forces(bool following, double* out) noexcept {
    pending_ = pending_ && following;
    const double fade = left_ * left_ * (3.0 - 2.0 * left_);
    for (int a = 0; a < actuators; ++a) {
      if (pending_) {
        const double bound = std::fmin(limit_[a], share * force_limit[a]);
        value_[a] = std::fmax(-bound, std::fmin(bound, weight_ * row_[a]));
      }
      out[a] = fade * value_[a];
    }
  }

  // Take the error [m, rad] of this cycle.
  void take(double interval, const double* error) noexcept {
    if (pending_ && !harmful_) harmful_ = does_harm(interval, error);
    const double change = interval / fade_time;
    const bool stays = pending_ && !harmful_;
    left_ = stays ? std::fmin(left_ + change, 1.0) : std::fmax(left_ - change, 0.0);
    pending_ = false;
  }

  bool harmful() const noexcept { return harmful_; }

 private:
  static constexpr double unbounded = std::numeric_limits<double>::infinity();
  static constexpr double share = @share@;          // of a force limit, at most
  static constexpr double fade_time = @fade_time@;  // [s]
  static constexpr double worse = @worse@;
  static constexpr double block = @block@;  // [s]
  static constexpr double chance = @chance@;  // in a block: what chance adds to a square
  static constexpr double largest = @largest@;  // of a sum
  static constexpr double force_limit[actuators] = {@force_limit@};

  bool does_harm(double interval, const double* error) noexcept {
    if (scale_ == nullptr || weight_ < 1.0 || !inside_) return false;
    const double* expected = row_ + actuators;
    const double* effect = expected + actuators;
    const double* alone = effect + actuators;
    double less = 0.0;
    for (int a = 0; a < actuators; ++a) {
      const double e = scale_[a] * error[a];
      less += (e - expected[a] + 0.5 * effect[a]) * effect[a];
      block_[0][a] += interval * e;
      block_[1][a] += interval * expected[a];
      block_[2][a] += interval * alone[a];
    }
    less_ = std::fmax(less_ - interval * less, 0.0);
    time_ += interval;
    if (time_ >= block) {
      double more = 0.0;
      for (int a = 0; a < actuators; ++a) {
        const double *e = block_[0], *x = block_[1], *y = block_[2];
        more += e[a] * e[a] - worse * worse * (x[a] * x[a] + y[a] * y[a]);
        block_[0][a] = block_[1][a] = block_[2][a] = 0.0;
      }
      more_ = std::fmax(more_ + 0.25 * more / time_ - chance * actuators, 0.0);
      time_ = 0.0;
    }
    return less_ > largest || more_ > largest;
  }

  bool harmful_ = false, pending_ = false, inside_ = false;
  double less_ = 0.0, more_ = 0.0;
  double time_ = 0.0;                 // [s] of a block so far
  double block_[3][actuators] = {};  // errors over it: measured, expected, of the model alone
  double left_ = 1.0;
  double value_[actuators] = {};
  double row_[ForceTable::columns] = {};
  double weight_ = 0.0;
  const double* limit_ = nullptr;
  const double* scale_ = nullptr;
};

}  // namespace pkm::@name@

#endif
