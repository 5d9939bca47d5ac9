"""An error that one rank meets alone, while the others wait for it, ends the whole job with that rank's line."""
import harness


class UncaughtError(harness.KoloTest):
    """--kolo is throw_on_one_rank, which has kolo's life cycle and a fault in the last rank."""

    def test_ends_every_rank_with_the_line_of_the_one_that_threw(self):
        for ranks in (1, 2, 4):
            self.require_one_line(ranks)

    def test_an_error_that_a_group_of_ranks_agreed_on_ends_the_others_too(self):
        for ranks in (2, 4):
            self.require_one_line(ranks, "group")

    def require_one_line(self, ranks, *arguments):
        with self.subTest(ranks=ranks):
            result = self.start(*arguments, ranks=ranks, threads=None).finish()
            where = f"rank {ranks - 1} on " if ranks > 1 else ""
            self.require_error(result, 1, where, "thrown on purpose")


if __name__ == "__main__":
    harness.main()
