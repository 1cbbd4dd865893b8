import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/* Loaded into a program before its own modules: notes the address of each that it loads. */

const file = process.env.SIGNET_TEST_LOADED;
// Not in what it starts.
delete process.env.SIGNET_TEST_LOADED;

registerHooks({
  load(address, context, next) {
    appendFileSync(file, `${address}\n`);
    return next(address, context);
  },
});
