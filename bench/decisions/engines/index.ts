import type { Prepare } from '../engine.ts';

/** Loads only the engine asked for, so that a process holds the code of one. */
export const engines = {
  ours: async (): Promise<Prepare> => (await import('./ours.ts')).prepareOurs,
  'hand-coded map': async (): Promise<Prepare> => (await import('./hand-map.ts')).prepareHandMap,
  'hand-coded scan': async (): Promise<Prepare> => (await import('./hand-scan.ts')).prepareHandScan,
  'map with domain test': async (): Promise<Prepare> => (await import('./of-domain.ts')).prepareMapOfDomain,
  'scan with domain test': async (): Promise<Prepare> => (await import('./of-domain.ts')).prepareScanOfDomain,
  CASL: async (): Promise<Prepare> => (await import('./casl.ts')).prepareCasl,
  casbin: async (): Promise<Prepare> => (await import('./casbin.ts')).prepareCasbin,
  Cedar: async (): Promise<Prepare> => (await import('./cedar.ts')).prepareCedar,
} as const;

export type EngineName = keyof typeof engines;

/** Engines written by hand for these rules, of which the better one counts: as short as can be, and with the test of the domain that ours makes. */
export const handCoded = {
  bare: ['hand-coded map', 'hand-coded scan'],
  ofDomain: ['map with domain test', 'scan with domain test'],
} as const satisfies Readonly<Record<string, readonly EngineName[]>>;
