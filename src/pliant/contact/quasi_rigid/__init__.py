"""The method `quasi-rigid`: bodies that are rigid but give way where they touch. Offers the names of pliant.contact.elastic too."""

from pliant.contact.elastic import *  # noqa: F403
from pliant.contact.elastic import __all__ as __all__
