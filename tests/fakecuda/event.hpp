#ifndef FAKECUDA_EVENT_HPP
#define FAKECUDA_EVENT_HPP

#include "driver.hpp"

namespace fake {

struct Event {
    CUevent handle = nullptr;
    std::shared_ptr<Context> context;
    unsigned int flags = 0;
    OpPtr op;                          // the newest record, ended or not
    std::shared_ptr<Capture> capture;  // if the newest record was captured
    std::vector<size_t> nodes;         // what it stands behind there
};

}  // namespace fake

#endif
