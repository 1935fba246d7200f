// How long the functions of '@name@' take: mean, quantiles and worst of a million calls in a row.
// The largest times come from the system, which interrupts a thread that is not a real-time one.
#include "@name@_model.hpp"
#if __has_include("@name@_controller.hpp")
#include "@name@_controller.hpp"
#define HAS_CONTROLLER
#endif

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using namespace pkm::@name@;

constexpr double seconds = 1e-3;  // from one call to the next
constexpr double rate = 6.283185307179586;  // [rad/s] of the motion

// The actuators swing about home, each at a phase of its own.
void motion(int cycle, double* q, double* qd, double* qdd) {
  const Configuration rest = home();
  for (int a = 0; a < actuators; ++a) {
    const double angle = rate * seconds * cycle + a;
    q[a] = rest.joints[actuator_joint(a)] + 0.01 * (std::sin(angle) - std::sin(a));
    qd[a] = 0.01 * rate * std::cos(angle);
    qdd[a] = -0.01 * rate * rate * std::sin(angle);
  }
}

template <class Call>
int measured(const char* what, int count, Call call) {
  std::vector<double> taken(count > 0 ? count : 0);  // [us]
  double total = 0.0;
  for (int cycle = 0; cycle < count; ++cycle) {
    const auto begin = std::chrono::steady_clock::now();
    const Status status = call(cycle);
    taken[cycle] =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    if (status != Status::ok) {
      std::printf("%s: status %d in cycle %d\n", what, static_cast<int>(status), cycle);
      return 1;
    }
    total += taken[cycle];
  }
  if (taken.empty()) {
    std::printf("%s: no call\n", what);
    return 1;
  }
  std::sort(taken.begin(), taken.end());
  const auto below = [&](double share) {
    return taken[static_cast<std::size_t>(std::ceil(share * (count - 1)))];
  };
  std::printf("%s [us]: %.2f mean, %.2f median, %.2f 99.9 %%, %.2f 99.999 %%, %.2f worst of %d\n",
              what, total / count, below(0.5), below(0.999), below(0.99999), below(1.0), count);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 1000000;
  double q[actuators], qd[actuators], qdd[actuators], force[actuators];
  Configuration at = home();
  int failed = measured("forces of a motion of the actuators", count, [&](int cycle) {
    motion(cycle, q, qd, qdd);
    return forces_of_actuators(q, qd, qdd, at, force);
  });
  if (platform_determines_joints) {
    Configuration here = home();
    const Configuration rest = home();
    failed += measured("forces of a motion of the platform", count, [&](int cycle) {
      const double angle = rate * seconds * cycle;
      double position[3], twist[6] = {}, acceleration[6] = {};
      for (int k = 0; k < 3; ++k) {
        position[k] = rest.position[k] + 0.01 * (std::sin(angle + k) - std::sin(k));
        twist[k] = 0.01 * rate * std::cos(angle + k);
        acceleration[k] = -0.01 * rate * rate * std::sin(angle + k);
      }
      return forces_of_platform(position, rest.rotation, twist, acceleration, here, force);
    });
  }
#ifdef HAS_CONTROLLER
  Controller controller;
  Reference reference;
  motion(0, q, qd, qdd);
  failed += controller.activate(0.0, q) ? 0 : 1;
  failed += measured("whole cycle of the controller", count, [&](int cycle) {
    motion(cycle, reference.position, reference.velocity, reference.acceleration);
    const StepResult result =
        controller.step(seconds * cycle, reference.position, &reference, force);
    return result.phase == Phase::following ? result.status : Status::not_finite;
  });
#endif
  return failed;
}
