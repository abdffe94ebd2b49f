// Calibration: measured, saved, restored.
#include "staging_inside.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "cuda/device.hpp"
#include "cuda/staging/calibration.hpp"

namespace {

std::string temporary_file() {
    char path[] = "/tmp/viaduct_calibration_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    return path;
}

void write_text(const std::string &path, const char *text) {
    FILE *file = fopen(path.c_str(), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

void a_calibration_is_measured_saved_and_restored(void **) {
    assert_int_equal(via::cuda::calibrate(0), VIA_OK);
    via::cuda::StagingThresholds measured{};
    assert_true(via::cuda::measured_thresholds(0, &measured));
    const std::string path = temporary_file();
    assert_int_equal(via::cuda::save_calibration(path.c_str()), VIA_OK);
    via::cuda::set_thresholds(0, {0, 0});
    assert_int_equal(via::cuda::load_calibration(path.c_str()), VIA_OK);
    via::cuda::StagingThresholds restored{};
    assert_true(via::cuda::measured_thresholds(0, &restored));
    assert_int_equal(restored.to_device, measured.to_device);
    assert_int_equal(restored.to_host, measured.to_host);
    via::cuda::set_thresholds(0, {0, 0});
    unlink(path.c_str());
}

void a_calibration_that_makes_no_sense_is_refused_whole(void **) {
    const std::string path = temporary_file();
    for (const char *text : {"", "viaduct calibration 2\n", "viaduct calibration 1\nnonsense\n",
                             "viaduct calibration 1\n0000:00:00.0 to_device 0 to_host never\n",
                             "viaduct calibration 1\n0000:00:00.0 to_device 4 to_host never more\n"}) {
        write_text(path, text);
        assert_int_equal(via::cuda::load_calibration(path.c_str()), VIA_ERROR_FORMAT);
        via::cuda::StagingThresholds none{};
        assert_false(via::cuda::measured_thresholds(0, &none));
    }
    write_text(path, "viaduct calibration 1\nffff:ff:1f.7 to_device 4 to_host never\n");
    assert_int_equal(via::cuda::load_calibration(path.c_str()), VIA_OK);
    unlink(path.c_str());
}

void a_calibration_nowhere_is_an_io_error(void **) {
    assert_int_equal(via::cuda::load_calibration("/nowhere/at/all"), VIA_ERROR_IO);
    assert_int_equal(via::last_error_code(), ENOENT);
    assert_int_equal(via::cuda::save_calibration("/nowhere/at/all"), VIA_ERROR_IO);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_calibration_is_measured_saved_and_restored),
        cmocka_unit_test(a_calibration_that_makes_no_sense_is_refused_whole),
        cmocka_unit_test(a_calibration_nowhere_is_an_io_error),
    };
    return run_inside(tests);
}
