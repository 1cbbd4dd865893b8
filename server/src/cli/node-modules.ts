/* Node carries its own modules in a form that V8 need not compile, which V8 takes only while its flags are those that it was started with. */

const names = [
  'assert',
  'async_hooks',
  'child_process',
  'cluster',
  'dns',
  'dns/promises',
  'fs/promises',
  'http',
  'https',
  'perf_hooks',
  'timers/promises',
  'tty',
  'worker_threads',
  'zlib',
] as const;

/** Of those that are loaded already: parts that are loaded when they are first read. */
const parts: readonly (() => unknown)[] = [
  () => process.getBuiltinModule('crypto').subtle,
  () => process.getBuiltinModule('net').BlockList,
  () => process.getBuiltinModule('async_hooks').AsyncLocalStorage,
  () => globalThis.navigator,
];

/**
 * Loads those of Node's modules that a server needs: before a flag of V8 is set, which has each that is loaded later compiled. Not by `import`, which
 * reads all parts of a module: some of them load a client for `fetch` that a server has no use for.
 */
export function loadNodeModules(): void {
  for (const name of names) process.getBuiltinModule(name);
  for (const read of parts) read();
}
