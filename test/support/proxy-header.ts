/** A PROXY protocol v2 header written byte by byte, so that each of its fields can be wrong. */
export function proxyHeader(
  client: string,
  options: {
    readonly command?: number;
    readonly family?: number;
    readonly addresses?: Buffer;
    readonly extensions?: Buffer;
    /** Instead of the true length. */
    readonly length?: number;
  } = {},
): Buffer {
  const isV6 = client.includes(':');
  const { command = 0x21, family = isV6 ? 0x21 : 0x11, extensions = Buffer.alloc(0) } = options;
  const addresses = options.addresses ?? (isV6 ? ipv6(client) : ipv4(client));
  const fixed = Buffer.alloc(16);
  Buffer.from([0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]).copy(fixed);
  fixed[12] = command;
  fixed[13] = family;
  fixed.writeUInt16BE(options.length ?? addresses.length + extensions.length, 14);
  return Buffer.concat([fixed, addresses, extensions]);
}

const ports = Buffer.from([0xc0, 0x00, 0x11, 0x5b]);

function ipv4(client: string): Buffer {
  return Buffer.concat([Buffer.from(client.split('.').map(Number)), Buffer.from([10, 0, 0, 1]), ports]);
}

/** All eight groups are written out. */
function ipv6(client: string): Buffer {
  const octets = Buffer.alloc(32);
  for (const [index, group] of client.split(':').entries()) octets.writeUInt16BE(Number.parseInt(group, 16), index * 2);
  return Buffer.concat([octets, ports]);
}
