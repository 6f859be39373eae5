/* DPDK's own RED, asked by test_config_dpdk.py. A line of the input is a question:

       config N MIN MAX INVERSE            prints what rte_red_config_init returns
       hold N MIN MAX INVERSE QUEUE COUNT  holds the queue, average and all, at QUEUE packets, offers COUNT packets, and
                                           prints how many were dropped and the longest gap between two drops
*/

#include <stdio.h>

#include <rte_red.h>

int main(void)
{
	char what[16];
	unsigned n, min, max, inverse;

	while (scanf("%15s %u %u %u %u", what, &n, &min, &max, &inverse) == 5) {
		struct rte_red_config config;
		int answer = rte_red_config_init(&config, n, min, max, inverse);
		unsigned queue, count, dropped = 0, gap = 0, longest = 0;
		struct rte_red red;

		if (what[0] == 'c') {
			printf("%d\n", answer);
			continue;
		}
		if (answer != 0 || scanf("%u %u", &queue, &count) != 2)
			return 1;
		rte_red_rt_data_init(&red);
		/* Fixed point: the average is shifted by n and by RTE_RED_SCALING. */
		red.avg = queue << (n + RTE_RED_SCALING);
		for (unsigned i = 0; i < count; i++) {
			gap++;
			if (rte_red_enqueue(&config, &red, queue, 0) != 0) {
				dropped++;
				/* To the first drop counts from the start, not from a drop. */
				if (dropped > 1 && gap > longest)
					longest = gap;
				gap = 0;
			}
		}
		printf("%u %u\n", dropped, longest);
	}
	return 0;
}
