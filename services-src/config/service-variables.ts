import { isIP } from 'node:net';

/**
 * Whether Kubernetes sets this variable in every pod, for a Service of the pod's namespace. The
 * name alone does not show this, because a misspelt setting may look alike, so the value must also
 * be what the kubelet writes for such a name.
 *
 * The kubelet sets such a variable only where the pod does not set it itself. So when a variable
 * with the name of a setting (`HEALTH_PORT`, beside a Service called `health`) has such a value,
 * nobody has set it as a setting.
 */
export function isServiceVariable(name: string, value: string): boolean {
  return shapes.some(({ namePattern: ofName, acceptsValue: hasShape }) => {
    const nameMatch = ofName.exec(name);
    return nameMatch !== null && hasShape(value, nameMatch.groups ?? {});
  });
}

interface VariableShape {
  readonly namePattern: RegExp;
  readonly acceptsValue: (value: string, nameParts: Readonly<Record<string, string>>) => boolean;
}

/** A Service's name is a DNS label; here it is in capitals, with `_` in place of `-`. */
const serviceNamePattern = '^[A-Z0-9][A-Z0-9_]*';
const onePortPattern = `${serviceNamePattern}_PORT_(?<port>\\d{1,5})_(?<protocol>TCP|UDP|SCTP)`;

const shapes: readonly VariableShape[] = [
  { namePattern: new RegExp(`${serviceNamePattern}_SERVICE_HOST$`), acceptsValue: isAddress },
  {
    namePattern: new RegExp(`${serviceNamePattern}_SERVICE_PORT(_[A-Z0-9_]+)?$`),
    acceptsValue: isPort,
  },
  {
    namePattern: new RegExp(`${serviceNamePattern}_PORT$`),
    acceptsValue: (value) => parseLink(value) !== null,
  },
  {
    namePattern: new RegExp(`${onePortPattern}$`),
    acceptsValue: (value, { port, protocol }) => {
      const link = parseLink(value);
      return link?.port === port && link?.protocol === protocol?.toLowerCase();
    },
  },
  {
    namePattern: new RegExp(`${onePortPattern}_PROTO$`),
    acceptsValue: (value, { protocol }) => value === protocol?.toLowerCase(),
  },
  {
    namePattern: new RegExp(`${onePortPattern}_PORT$`),
    acceptsValue: (value, { port }) => value === port,
  },
  { namePattern: new RegExp(`${onePortPattern}_ADDR$`), acceptsValue: isAddress },
];

/** Parses `tcp://10.0.0.1:80` or `tcp://[fd00::1]:80`. */
function parseLink(value: string): { protocol: string; port: string } | null {
  const [, protocol = '', bracketed, plain = '', port = ''] =
    /^(tcp|udp|sctp):\/\/(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(value) ?? [];
  const isLink = bracketed === undefined ? isIP(plain) === 4 : isIP(bracketed) === 6;
  return isLink && isPort(port) ? { protocol, port } : null;
}

function isAddress(value: string): boolean {
  return isIP(value) !== 0;
}

function isPort(value: string): boolean {
  return /^[1-9]\d{0,4}$/.test(value) && Number(value) <= 65_535;
}
