# SPDX-License-Identifier: Apache-2.0
# Leaves out specializations of fmt::formatter: doxygen does not know the namespace that they belong to.
/^template <.*>$/{
  N
  /fmt::formatter/{
    :more
    /};$/!{
      N
      b more
    }
    d
  }
}
