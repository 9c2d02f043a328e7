export interface ServicePort {
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly name?: string;
}

/** The variables that the kubelet sets in a pod for one Service of its namespace. */
export function variablesOf(
  service: string,
  address: string,
  ports: readonly ServicePort[],
): Readonly<Record<string, string>> {
  const toVariablePrefix = (name: string) => name.toUpperCase().replaceAll('-', '_');
  const prefix = toVariablePrefix(service);
  const [first] = ports;
  const host = address.includes(':') ? `[${address}]` : address;
  const linkTo = ({ protocol, port }: ServicePort) => `${protocol.toLowerCase()}://${host}:${port}`;
  return {
    [`${prefix}_SERVICE_HOST`]: address,
    ...(first && {
      [`${prefix}_SERVICE_PORT`]: String(first.port),
      [`${prefix}_PORT`]: linkTo(first),
    }),
    ...Object.fromEntries(
      ports.flatMap((each) => {
        const portPrefix = `${prefix}_PORT_${each.port}_${each.protocol}`;
        return [
          ...(each.name === undefined
            ? []
            : [[`${prefix}_SERVICE_PORT_${toVariablePrefix(each.name)}`, String(each.port)]]),
          [portPrefix, linkTo(each)],
          [`${portPrefix}_PROTO`, each.protocol.toLowerCase()],
          [`${portPrefix}_PORT`, String(each.port)],
          [`${portPrefix}_ADDR`, address],
        ];
      }),
    ),
  };
}
