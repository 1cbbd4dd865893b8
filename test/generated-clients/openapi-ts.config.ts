import { defineConfig } from '@hey-api/openapi-ts';

// biome-ignore lint/style/noDefaultExport: the generator reads it
export default defineConfig({
  input: '../../docs/openapi.json',
  output: { path: 'generated/hey-api', importFileExtension: '.js' },
  plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
});
