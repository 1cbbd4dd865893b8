/** The other side of `oneAnswer`: does what this process is told to and sends what comes of it. */
export function answerOrders<Order>(work: (order: Order) => Promise<unknown>): void {
  process.on('message', (order: Order) => {
    work(order).then(
      (answer) => process.send?.(answer),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.once('disconnect', () => process.exit());
}
