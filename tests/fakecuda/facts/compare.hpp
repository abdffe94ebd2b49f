#ifndef FAKECUDA_COMPARE_HPP
#define FAKECUDA_COMPARE_HPP

namespace facts {

// Says on stderr where two files of facts differ, but for the differences meant; 0 if nowhere.
int compare(const char *recorded_path, const char *found_path, const char *differences_path);

}  // namespace facts

#endif
