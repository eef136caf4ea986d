# The tests of a folder that boots the guest once for all its runs: NAME.guest.runs, then one for
# each method of the class Checks in its guest_checks.py, whose name says what holds.
#   guest_checks(NAME TIMEOUT COMMAND)   COMMAND: what guest_runs.py runs in the guest
function(guest_checks name timeout command)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  # The sanitizers' runtimes would have to be loaded before libnccl's.
  if(RDMAGUARD_SANITIZE)
    return()
  endif()
  set(checks ${CMAKE_CURRENT_SOURCE_DIR}/guest_checks.py)
  set(runs ${CMAKE_CURRENT_BINARY_DIR}/guest)
  set(python ${Python3_EXECUTABLE} -B)
  add_test(NAME ${name}.guest.runs
    COMMAND ${python} ${checks} boot ${runs} ${command} ${RDMAGUARD_NCCL_DIR})
  set_tests_properties(${name}.guest.runs PROPERTIES LABELS guest FIXTURES_SETUP ${name}_runs
    SKIP_RETURN_CODE 77 TIMEOUT ${timeout} PROCESSORS 2)
  file(STRINGS ${checks} lines REGEX "^    def [A-Z]")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${checks})
  foreach(line ${lines})
    string(REGEX REPLACE "^    def ([A-Za-z0-9]+).*" "\\1" test ${line})
    add_test(NAME ${name}.guest.${test} COMMAND ${python} ${checks} ${test} ${runs})
    set_tests_properties(${name}.guest.${test} PROPERTIES
      LABELS guest SKIP_RETURN_CODE 77 FIXTURES_REQUIRED ${name}_runs)
  endforeach()
endfunction()
