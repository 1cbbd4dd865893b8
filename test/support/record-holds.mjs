import { appendFileSync } from 'node:fs';

/* Loaded into a server before its own modules: notes each time that its event loop was held, in processor time of that thread. */

const file = process.env.SIGNET_TEST_HOLDS;
// Not in what it starts.
delete process.env.SIGNET_TEST_HOLDS;
const leastMs = 10;
const used = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

if (file !== undefined) {
  let last = used();
  setInterval(() => {
    const now = used();
    // One line a hold: its length in milliseconds.
    if (now - last >= leastMs) appendFileSync(file, `${(now - last).toFixed(1)}\n`);
    last = used();
  }, 1).unref();
}
