// Chainable controller of ros2_control for the robot '@name@': efforts from positions, velocities and
// accelerations that another controller writes. What it does is in @name@_chained.hpp.
#include "@name@_chained.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/rclcpp.hpp"
#include "std_srvs/srv/trigger.hpp"

namespace pkm::@name@ {

class ChainableController : public controller_interface::ChainableControllerInterface {
 public:
  using CallbackReturn = controller_interface::CallbackReturn;
  using InterfaceConfiguration = controller_interface::InterfaceConfiguration;

  CallbackReturn on_init() override {
    try {
      auto_declare<std::vector<std::string>>(
          "joints", std::vector<std::string>(actuator_names, actuator_names + actuators));
      auto_declare<double>("reference_timeout", reference_timeout_);
@declared@    } catch (const std::exception& error) {
      RCLCPP_ERROR(get_node()->get_logger(), "parameters: %s", error.what());
      return CallbackReturn::ERROR;
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State&) override {
    const auto node = get_node();
    joints_ = node->get_parameter("joints").as_string_array();
    if (joints_.size() != actuators) {
      RCLCPP_ERROR(
          node->get_logger(), "joints: %zu names for %d actuators", joints_.size(), actuators);
      return CallbackReturn::FAILURE;
    }
    reference_timeout_ = node->get_parameter("reference_timeout").as_double();
@read@    const char* invalid = reference_timeout_ >= 0.0 ? invalid_option(options_) : "reference_timeout";
    if (invalid != nullptr) {
      RCLCPP_ERROR(node->get_logger(), "%s: cannot be", invalid);
      return CallbackReturn::FAILURE;
    }
    controller_ = std::make_unique<ChainedController>(options_, reference_timeout_);
    stop_ = node->create_service<std_srvs::srv::Trigger>(
        "~/stop",
        [this](
            const std::shared_ptr<std_srvs::srv::Trigger::Request>,
            std::shared_ptr<std_srvs::srv::Trigger::Response> response) {
          controller_->ask_stop();
          response->success = true;
          response->message = "stops";
        });
    return CallbackReturn::SUCCESS;
  }

  InterfaceConfiguration command_interface_configuration() const override {
    return interfaces({hardware_interface::HW_IF_EFFORT});
  }

  InterfaceConfiguration state_interface_configuration() const override {
    return interfaces({hardware_interface::HW_IF_POSITION, hardware_interface::HW_IF_VELOCITY});
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State&) override {
    forget_references();
    unwritten_for_ = 0.0;
    double velocity[actuators];
    read(0, measured_);
    read(actuators, velocity);
    if (!controller_->activate(measured_, velocity)) {
      RCLCPP_ERROR(get_node()->get_logger(), "the loops do not close where the actuators are");
      return CallbackReturn::FAILURE;
    }
    result_ = StepResult();
    return CallbackReturn::SUCCESS;
  }

  // The drives keep what they get here.
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State&) override {
    read(0, measured_);
    controller_->release(measured_, command_);
    if (!write()) {
      RCLCPP_ERROR(get_node()->get_logger(), "the forces that hold the robot were not taken");
    }
    if (result_.reason != Reason::none) {
      RCLCPP_WARN(
          get_node()->get_logger(), "it had stopped: reason %d", static_cast<int>(result_.reason));
    }
    return CallbackReturn::SUCCESS;
  }

 protected:
  // The lists that replace the next two are not in every ros2_control of Jazzy.
  std::vector<hardware_interface::CommandInterface> on_export_reference_interfaces() override {
    reference_interfaces_.resize(ChainedController::references);
    forget_references();
    const char* kinds[] = {
        hardware_interface::HW_IF_POSITION, hardware_interface::HW_IF_VELOCITY,
        hardware_interface::HW_IF_ACCELERATION};
    std::vector<hardware_interface::CommandInterface> exported;
    for (int k = 0; k < ChainedController::references; ++k) {
      exported.emplace_back(
          std::string(get_node()->get_name()) + "/" + joints_[k / 3], kinds[k % 3],
          &reference_interfaces_[k]);
    }
    return exported;
  }

  std::vector<hardware_interface::StateInterface> on_export_state_interfaces() override {
    state_interfaces_values_.assign(2, 0.0);
    std::vector<hardware_interface::StateInterface> exported;
    exported.emplace_back(get_node()->get_name(), "phase", &state_interfaces_values_[0]);
    exported.emplace_back(get_node()->get_name(), "reason", &state_interfaces_values_[1]);
    return exported;
  }

  // Without a chain nobody writes references: it holds.
  controller_interface::return_type update_reference_from_subscribers(
      const rclcpp::Time&, const rclcpp::Duration&) override {
    return controller_interface::return_type::OK;
  }

  controller_interface::return_type update_and_write_commands(
      const rclcpp::Time&, const rclcpp::Duration& period) override {
    read(0, measured_);
    result_ = controller_->update(
        period.seconds(), measured_, reference_interfaces_.data(), command_);
    state_interfaces_values_[0] = static_cast<double>(result_.phase);
    state_interfaces_values_[1] = static_cast<double>(result_.reason);
    unwritten_for_ = write() ? 0.0 : unwritten_for_ + period.seconds();
    const bool lost = unwritten_for_ > options_.max_interval;
    return result_.phase == Phase::off || lost ? controller_interface::return_type::ERROR
                                               : controller_interface::return_type::OK;
  }

 private:
  InterfaceConfiguration interfaces(const std::vector<std::string>& kinds) const {
    InterfaceConfiguration wanted{controller_interface::interface_configuration_type::INDIVIDUAL, {}};
    for (const std::string& kind : kinds) {
      for (const std::string& joint : joints_) wanted.names.push_back(joint + "/" + kind);
    }
    return wanted;
  }

  void forget_references() {
    for (double& each : reference_interfaces_) each = std::numeric_limits<double>::quiet_NaN();
  }

  // State interfaces of one kind; NaN where one is locked.
  void read(int first, double* values) {
    for (int a = 0; a < actuators; ++a) {
      values[a] = state_interfaces_[first + a].get_optional().value_or(
          std::numeric_limits<double>::quiet_NaN());
    }
  }

  bool write() {
    bool written = true;
    for (int a = 0; a < actuators; ++a) {
      written = command_interfaces_[a].set_value(command_[a]) && written;
    }
    return written;
  }

  std::vector<std::string> joints_;
  ControllerOptions options_;
  double reference_timeout_ = @timeout@;
  std::unique_ptr<ChainedController> controller_;
  rclcpp::Service<std_srvs::srv::Trigger>::SharedPtr stop_;
  StepResult result_;
  double measured_[actuators] = {}, command_[actuators] = {};
  double unwritten_for_ = 0.0;
};

}  // namespace pkm::@name@

PLUGINLIB_EXPORT_CLASS(
    pkm::@name@::ChainableController, controller_interface::ChainableControllerInterface)
