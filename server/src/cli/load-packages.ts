import { type ResolveHookSync, registerHooks } from 'node:module';
import { loadQueryLayer } from '../store/query-layer.ts';

/* Node takes most of the time of a start to find modules: for each it asks the file system what there is, where it really is and to which package it
   belongs. Between the modules of one package, all of them of ECMAScript, an address says all that. */

const resolve: ResolveHookSync = (specifier, context, next) => {
  const { parentURL, conditions } = context;
  const isInside = specifier.startsWith('.') && specifier.endsWith('.js') && parentURL?.endsWith('.js') === true;
  if (!isInside || !conditions.includes('import')) return next(specifier, context);
  return { url: new URL(specifier, parentURL).href, format: 'module', shortCircuit: true };
};

/** Loads the packages that a server needs and that have the most modules (docs/decisions/073). */
export async function loadPackages(): Promise<void> {
  const hooks = registerHooks({ resolve });
  try {
    await Promise.all([loadQueryLayer(), import('zod'), import('jose')]);
  } finally {
    hooks.deregister();
  }
}
