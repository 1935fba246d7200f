// Runs a chainable controller as a controller manager does, on interfaces that only hold numbers.
//
// harness PLUGIN NODE JOINT... reads commands and answers each in one line:
//   activate POSITIONS VELOCITIES           1, or 0 where it refuses
//   update PERIOD POSITIONS REFERENCES      0 or 1 (an error), allocations, phase, efforts
//   stop                                    1, as the service answers
//   deactivate POSITIONS                    efforts that stay
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "pluginlib/class_loader.hpp"
#include "rclcpp/rclcpp.hpp"
#include "std_srvs/srv/trigger.hpp"

extern "C" void* __libc_malloc(std::size_t size);
static std::atomic<long> allocations{0};
extern "C" void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}

using Base = controller_interface::ChainableControllerInterface;
using hardware_interface::CommandInterface;
using hardware_interface::StateInterface;

static std::vector<double> numbers(std::size_t count) {
  std::vector<double> read(count);
  for (double& each : read) {
    std::string word;
    std::cin >> word;
    each = std::strtod(word.c_str(), nullptr);
  }
  return read;
}

// Into the same memory, where interfaces point.
static void read_into(std::vector<double>& values) {
  const std::vector<double> read = numbers(values.size());
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = read[k];
}

static void print(const std::vector<double>& values) {
  for (const double each : values) std::printf(" %.17g", each);
  std::printf("\n");
  std::fflush(stdout);
}

int main(int argc, char** argv) {
  rclcpp::init(0, nullptr);
  const std::vector<std::string> joints(argv + 3, argv + argc);
  const std::size_t n = joints.size();
  pluginlib::ClassLoader<Base> loader(
      "controller_interface", "controller_interface::ChainableControllerInterface");
  const auto controller = loader.createSharedInstance(argv[1]);
  controller_interface::ControllerInterfaceParams parameters;
  parameters.controller_name = argv[2];
  parameters.update_rate = parameters.controller_manager_update_rate = 1000;
  parameters.node_options = controller->define_custom_node_options();
  if (controller->init(parameters) != controller_interface::return_type::OK) return 1;
  if (controller->configure().label() != "inactive") return 1;
  const auto references = controller->export_reference_interfaces();
  const auto states = controller->export_state_interfaces();
  if (references.size() != 3 * n || !controller->set_chained_mode(true)) return 1;

  std::vector<double> efforts(n, 0.0), positions(n, 0.0), velocities(n, 0.0);
  std::vector<CommandInterface::SharedPtr> commands;
  std::vector<StateInterface::SharedPtr> measured;
  const auto wanted = controller->command_interface_configuration().names;
  const auto needed = controller->state_interface_configuration().names;
  for (std::size_t a = 0; a < n; ++a) {
    commands.push_back(std::make_shared<CommandInterface>(joints[a], "effort", &efforts[a]));
    if (wanted[a] != commands[a]->get_name()) return 1;
  }
  for (std::size_t k = 0; k < 2 * n; ++k) {
    double* value = k < n ? &positions[k] : &velocities[k - n];
    const char* kind = k < n ? "position" : "velocity";
    measured.push_back(std::make_shared<StateInterface>(joints[k % n], kind, value));
    if (needed[k] != measured[k]->get_name()) return 1;
  }
  const auto client_node = std::make_shared<rclcpp::Node>("harness");
  const auto client =
      client_node->create_client<std_srvs::srv::Trigger>(std::string(argv[2]) + "/stop");
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(client_node);
  executor.add_node(controller->get_node()->get_node_base_interface());

  std::string command;
  rclcpp::Time now(0, 0, RCL_STEADY_TIME);
  while (std::cin >> command) {
    if (command == "activate") {
      read_into(positions);
      read_into(velocities);
      std::vector<hardware_interface::LoanedCommandInterface> lent;
      std::vector<hardware_interface::LoanedStateInterface> shown;
      for (const auto& each : commands) lent.emplace_back(each, nullptr);
      for (const auto& each : measured) shown.emplace_back(each, nullptr);
      controller->assign_interfaces(std::move(lent), std::move(shown));
      print({controller->get_node()->activate().label() == "active" ? 1.0 : 0.0});
    } else if (command == "update") {
      const rclcpp::Duration period = rclcpp::Duration::from_seconds(numbers(1)[0]);
      read_into(positions);
      const std::vector<double> written = numbers(3 * n);
      for (std::size_t k = 0; k < 3 * n; ++k) {
        if (!std::isnan(written[k]) && !references[k]->set_value(written[k])) return 1;
      }
      now = now + period;
      const long before = allocations;
      const bool failed = controller->update(now, period) != controller_interface::return_type::OK;
      const long made = allocations - before;
      std::vector<double> answer = {failed ? 1.0 : 0.0, static_cast<double>(made)};
      answer.push_back(states[0]->get_optional().value());
      answer.insert(answer.end(), efforts.begin(), efforts.end());
      print(answer);
    } else if (command == "stop") {
      client->wait_for_service();
      auto asked = client->async_send_request(std::make_shared<std_srvs::srv::Trigger::Request>());
      executor.spin_until_future_complete(asked);
      print({asked.get()->success ? 1.0 : 0.0});
    } else if (command == "deactivate") {
      read_into(positions);
      if (controller->get_node()->deactivate().label() != "inactive") return 1;
      controller->release_interfaces();
      print(efforts);
    }
  }
  executor.remove_node(controller->get_node()->get_node_base_interface());
  rclcpp::shutdown();
  return 0;
}
