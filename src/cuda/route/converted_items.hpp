// Rows by index that are converted, as items that cross a link packed.
#pragma once

#include "core/layout/converted_rows.hpp"
#include "cuda/indexed_transfer.hpp"
#include "cuda/route/packed_parts.hpp"

namespace via::cuda {

class ConvertedItems final : public PackedItems {
public:
    // `reached` has the lists that the device reaches.
    ConvertedItems(const IndexedTransfer &transfer, const IndexedRows &reached);

    VIA_NODISCARD Status pack(int64_t first, int64_t count, int64_t offset, int64_t nbytes, char *packed) override;
    VIA_NODISCARD Status unpack(int64_t first, int64_t count, int64_t offset, int64_t nbytes,
                                const char *packed) override;
    int32_t workers() const override;
    VIA_NODISCARD Status copy_on_device(const ResolvedStream &stream) override;
    VIA_NODISCARD Status pack_on_device(int64_t first, int64_t count, char *packed,
                                        const ResolvedStream &stream) override;
    VIA_NODISCARD Status unpack_on_device(int64_t first, int64_t count, const char *packed,
                                          const ResolvedStream &stream) override;

private:
    const IndexedTransfer &transfer_;
    // The whole conversion, and its parts before and after the link: one of both changes nothing.
    const ConvertedRows whole_;
    const ConvertedRows before_;
    const ConvertedRows after_;
};

}  // namespace via::cuda
