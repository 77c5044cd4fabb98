# undertone::static and undertone::shared, and undertone::undertone, which is the static library unless
# BUILD_SHARED_LIBS is on.

# Found from the place of this file, so that the installed folder can be moved.
get_filename_component(_undertone_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

foreach(_undertone_kind static shared)
    string(TOUPPER ${_undertone_kind} _undertone_type)
    set(_undertone_file
        "${_undertone_prefix}/lib/${CMAKE_${_undertone_type}_LIBRARY_PREFIX}undertone${CMAKE_${_undertone_type}_LIBRARY_SUFFIX}")
    # A package may contain only one of the two.
    if(NOT TARGET undertone::${_undertone_kind} AND EXISTS "${_undertone_file}")
        add_library(undertone::${_undertone_kind} ${_undertone_type} IMPORTED)
        set_target_properties(undertone::${_undertone_kind} PROPERTIES
            INTERFACE_INCLUDE_DIRECTORIES "${_undertone_prefix}/include"
            IMPORTED_LOCATION "${_undertone_file}")
    endif()
endforeach()

if(NOT TARGET undertone::undertone)
    add_library(undertone::undertone INTERFACE IMPORTED)
    if(BUILD_SHARED_LIBS)
        set_target_properties(undertone::undertone PROPERTIES INTERFACE_LINK_LIBRARIES undertone::shared)
    else()
        set_target_properties(undertone::undertone PROPERTIES INTERFACE_LINK_LIBRARIES undertone::static)
    endif()
endif()

# The components are the targets: static and shared.
foreach(_undertone_component IN LISTS undertone_FIND_COMPONENTS)
    set(undertone_${_undertone_component}_FOUND FALSE)
    if(TARGET undertone::${_undertone_component})
        set(undertone_${_undertone_component}_FOUND TRUE)
    elseif(undertone_FIND_REQUIRED_${_undertone_component})
        set(undertone_FOUND FALSE)
        set(undertone_NOT_FOUND_MESSAGE
            "undertone has no component \"${_undertone_component}\" here; the components are static and shared")
    endif()
endforeach()

unset(_undertone_component)
unset(_undertone_file)
unset(_undertone_kind)
unset(_undertone_type)
unset(_undertone_prefix)
