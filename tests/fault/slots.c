#define _GNU_SOURCE /* dl_iterate_phdr */
#include "slots.h"

#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* One object, and what its dynamic section says. */
typedef struct object {
    uintptr_t base;
    const char *strings;
    const ElfW(Sym) * symbols;
} object;

typedef struct search {
    const char *name;
    slot_visitor visit;
    void *context;
    int found;
} search;

/* The loader has added the base to these already, but not in every object. */
static uintptr_t address_in(const object *of, uintptr_t value) { return value < of->base ? of->base + value : value; }

static uintptr_t entry_of(const ElfW(Dyn) * dynamic, ElfW(Sxword) tag) {
    for (; dynamic->d_tag != DT_NULL; ++dynamic) {
        if (dynamic->d_tag == tag) {
            return dynamic->d_un.d_val;
        }
    }
    return 0;
}

static void make_writable(void *slot) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = (uintptr_t)slot / page * page;
    mprotect((void *)start, page, PROT_READ | PROT_WRITE);
}

/* Only functions of other objects: what an object defines has a section there. */
static void visit_table(const object *of, uintptr_t table, uintptr_t bytes, search *wanted) {
    const ElfW(Rela) *relocation = (const ElfW(Rela) *)address_in(of, table);
    for (uintptr_t i = 0; table != 0 && i < bytes / sizeof *relocation; ++i) {
        const ElfW(Sym) *symbol = &of->symbols[ELF64_R_SYM(relocation[i].r_info)];
        if (ELF64_R_SYM(relocation[i].r_info) == 0 || symbol->st_shndx != SHN_UNDEF || relocation[i].r_addend != 0 ||
            ELF64_ST_TYPE(symbol->st_info) == STT_TLS) {
            continue;
        }
        void **slot = (void **)(of->base + relocation[i].r_offset);
        make_writable(slot);
        wanted->visit(of->strings + symbol->st_name, slot, wanted->context);
        wanted->found++;
    }
}

static void visit_object(uintptr_t base, const ElfW(Dyn) * dynamic, search *wanted) {
    object of = {base, NULL, NULL};
    of.strings = (const char *)address_in(&of, entry_of(dynamic, DT_STRTAB));
    of.symbols = (const ElfW(Sym) *)address_in(&of, entry_of(dynamic, DT_SYMTAB));
    visit_table(&of, entry_of(dynamic, DT_JMPREL), entry_of(dynamic, DT_PLTRELSZ), wanted);
    visit_table(&of, entry_of(dynamic, DT_RELA), entry_of(dynamic, DT_RELASZ), wanted);
}

static int look_at(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    search *wanted = context;
    if (*wanted->name == '\0' ? *info->dlpi_name != '\0' : strstr(info->dlpi_name, wanted->name) == NULL) {
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            visit_object(info->dlpi_addr, (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr), wanted);
        }
    }
    return 1;
}

int visit_slots(const char *name, slot_visitor visit, void *context) {
    search wanted = {name, visit, context, 0};
    dl_iterate_phdr(look_at, &wanted);
    return wanted.found;
}

static int holds_address(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    const uintptr_t address = *(const uintptr_t *)context;
    for (int i = 0; *info->dlpi_name == '\0' && i < info->dlpi_phnum; ++i) {
        const uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && address >= start && address - start < info->dlpi_phdr[i].p_memsz) {
            return 1;
        }
    }
    return 0;
}

int is_in_program(const void *address) {
    uintptr_t number = (uintptr_t)address;
    return dl_iterate_phdr(holds_address, &number) == 1;
}
