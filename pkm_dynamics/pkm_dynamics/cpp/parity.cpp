// Forces of '@name@' as compiled here against those of Python, which are written below.
// Exit status 1 where they differ by more than `bound` of the largest force, or are refused.
#include "@name@_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace {

using namespace pkm::@name@;

constexpr double bound = @bound@;

struct Sample {
  Configuration at;
  double q[actuators], qd[actuators], qdd[actuators];
  double twist[6], acceleration[6];  // of the platform, in the base frame
  double force[actuators];
  double gravity[actuators];
};

constexpr Sample samples[] = {
@samples@
};

struct Largest {
  double difference = 0.0;  // of the largest force of a sample
  int refused = 0;

  void add(Status status, const double* force, const double* expected) {
    if (status != Status::ok) {
      ++refused;
      return;
    }
    double size = 0.0, off = 0.0;
    for (int a = 0; a < actuators; ++a) {
      size = std::max(size, std::fabs(expected[a]));
      off = std::max(off, std::fabs(force[a] - expected[a]));
    }
    if (size > 0.0) off /= size;
    if (!(off <= difference)) difference = off;  // not a number, too
  }

  int failed(const char* what) const {
    const bool bad = refused > 0 || !(difference <= bound);
    std::printf("%s: %.1e of the largest force, at most %.0e; %d refused%s\n", what, difference,
                bound, refused, bad ? ": FAILED" : "");
    return bad ? 1 : 0;
  }
};

}  // namespace

int main() {
  Largest moved, of_platform, at_rest, searched;
  for (const Sample& sample : samples) {
    double force[actuators];
    Configuration at = sample.at;
    moved.add(forces_of_actuators(sample.q, sample.qd, sample.qdd, at, force), force, sample.force);
    at = sample.at;
    at_rest.add(gravity(sample.q, at, force), force, sample.gravity);
    if (platform_determines_joints) {
      at = sample.at;
      of_platform.add(forces_of_platform(sample.at.position, sample.at.rotation, sample.twist,
                                         sample.acceleration, at, force),
                      force, sample.force);
    }
    at = home();
    Status status = reach(sample.q, at);
    if (status == Status::ok) {
      status = forces_of_actuators(sample.q, sample.qd, sample.qdd, at, force);
    }
    searched.add(status, force, sample.force);
  }
  int failed = moved.failed("forces of a motion of the actuators");
  if (platform_determines_joints) {
    failed += of_platform.failed("forces of a motion of the platform");
  }
  failed += at_rest.failed("forces at rest");
  failed += searched.failed("forces where the search from home ends");
  return failed > 0 ? 1 : 0;
}
