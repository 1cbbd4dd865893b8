import { z } from 'zod';
import { about } from './about.ts';

export const metricsSchema = z.strictObject({
  listen: z
    .strictObject({
      host: z
        .string()
        .min(1)
        .default('127.0.0.1')
        .meta(
          about(
            '0.2',
            '10.0.0.1',
            'Address of the listener that answers `GET /metrics`: plain HTTP on the loopback interface, else TLS for callers with a certificate that chains to `tls.clientCa`.',
          ),
        ),
      port: z
        .int()
        .min(0)
        .max(65_535)
        .optional()
        .meta(
          about('0.2', 9464, 'Its port; 0: any free one.', {
            absent: 'nothing is counted, unless `metrics.listen.socket` is set',
          }),
        ),
      socket: z
        .string()
        .min(1)
        .max(100)
        .optional()
        .meta(
          about('0.2', '/run/signet/metrics.sock', 'Path of a socket, instead of host and port.', {
            absent: 'none',
          }),
        ),
    })
    .prefault({})
    .meta({ description: 'Endpoint of metrics, in the text formats of Prometheus and OpenMetrics.' }),
});
