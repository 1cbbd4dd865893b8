// In a checkout the sources run as they are (Node strips the types); in an installed package there are only the joined files.
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';

const source = new URL('../src/main.ts', import.meta.url);
if (existsSync(source)) {
  registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier, { ...context, conditions: [...context.conditions, '@signet/source'] }),
  });
  await import(source.href);
} else {
  await import('../joined/main.js');
}
