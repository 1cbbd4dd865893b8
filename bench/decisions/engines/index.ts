import type { Prepare } from '../engine.ts';

/** Loads only the engine asked for, so that a process holds the code of one. */
export const engines = {
  ours: async (): Promise<Prepare> => (await import('./ours.ts')).prepareOurs,
  'hand-coded map': async (): Promise<Prepare> => (await import('./hand-map.ts')).prepareHandMap,
  'hand-coded scan': async (): Promise<Prepare> => (await import('./hand-scan.ts')).prepareHandScan,
  CASL: async (): Promise<Prepare> => (await import('./casl.ts')).prepareCasl,
  casbin: async (): Promise<Prepare> => (await import('./casbin.ts')).prepareCasbin,
  Cedar: async (): Promise<Prepare> => (await import('./cedar.ts')).prepareCedar,
} as const;

export type EngineName = keyof typeof engines;
