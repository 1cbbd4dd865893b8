export * from './instance-host-name.ts';
export * from './names.ts';
