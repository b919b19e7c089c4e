# SPDX-License-Identifier: MIT
"""IGT in the guest: which tests a build has, what they say, and what that comes to."""
