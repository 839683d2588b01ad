"""The method `quasi-rigid`: bodies that are rigid but give way where they touch; what they give is worked out in contact/elastic."""
