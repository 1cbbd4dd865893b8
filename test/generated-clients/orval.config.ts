import { defineConfig } from 'orval';

// biome-ignore lint/style/noDefaultExport: the generator reads it
export default defineConfig({
  signet: {
    input: '../../docs/openapi.json',
    output: {
      mode: 'single',
      target: 'generated/orval.ts',
      client: 'fetch',
      override: { mutator: { path: 'clients/orval-fetch.ts', name: 'orvalFetch', extension: '.js' } },
    },
  },
});
