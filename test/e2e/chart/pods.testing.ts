import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { environmentOf } from '../../../deploy/chart-releases.testing.ts';
import type { PodSpec } from '../../../deploy/chart-releases.testing.ts';
import type { KubeObject } from '../../../deploy/helm-checks/kube-object.ts';
import { variablesOf } from '../../../services-src/config/service-variables.testing.ts';

interface ServiceSpec {
  readonly selector: Readonly<Record<string, string>>;
  readonly ports: readonly { readonly name: string; readonly port: number }[];
}

/** The Secrets that `kubectl apply` would have stored, by name. */
export type StoredSecrets = ReadonlyMap<string, Readonly<Record<string, string>>>;

/**
 * Writes the files that the kubelet mounts into the pod's first container from Secrets, below a
 * folder of this machine. Returns the folder of each mount path. Throws for a Secret or a key that
 * does not exist, for which the kubelet would not start the pod.
 */
export async function mountSecrets(
  pod: PodSpec,
  { folder, secrets }: { folder: string; secrets: StoredSecrets },
): Promise<ReadonlyMap<string, string>> {
  const folders = new Map<string, string>();
  for (const { name, secret } of pod.volumes) {
    const mount = pod.containers[0]?.volumeMounts.find((each) => each.name === name);
    if (secret === undefined || mount === undefined) continue;
    const target = join(folder, name);
    await mkdir(target, { recursive: true });
    for (const { key, path } of secret.items ?? []) {
      const value = secrets.get(secret.secretName)?.[key];
      if (value === undefined) throw new Error(`no key ${key} in the Secret ${secret.secretName}`);
      await writeFile(join(target, path), value);
    }
    folders.set(mount.mountPath, target);
  }
  return folders;
}

/** Variables that the kubelet adds to every pod of a namespace for its Services. */
export function kubeletVariables(objects: readonly KubeObject[]): Record<string, string> {
  const services = objects.filter(({ kind }) => kind === 'Service');
  const own = services.map(({ metadata, spec }) =>
    variablesOf(
      metadata.name,
      '10.96.0.12',
      (spec as ServiceSpec).ports.map((port) => ({ ...port, protocol: 'TCP' })),
    ),
  );
  // Services of other programs, with names that begin like settings.
  const others = ['kubernetes', 'gateway', 'auth', 'nats', 'health', 'oauth'].map((name) =>
    variablesOf(name, '10.96.0.13', [{ name: 'http', port: 8080, protocol: 'TCP' }]),
  );
  return Object.assign({}, ...own, ...others) as Record<string, string>;
}

/** What a pod has in a cluster and a process of this machine has not. */
export interface Substitutes {
  /** The local port of each port of the container: all replicas share the addresses of the machine. */
  readonly ports: ReadonlyMap<number, number>;
  /** `host:port` here of each `name:port` of a Service: there is no name server of the cluster. */
  readonly services: ReadonlyMap<string, string>;
  /** The local folder of each folder with mounted Secrets. */
  readonly folders: ReadonlyMap<string, string>;
}

/** The variables of the pod's container with these substitutes, and nothing else changed. */
export function localEnvironmentOf(
  pod: PodSpec,
  { ports, services, folders }: Substitutes,
): Record<string, string> {
  const { HOST = '', PORT = '', ...others } = environmentOf(pod);
  // `HOST` and `PORT` of components other than the gateway are the address of the gateway's Service.
  const [host = HOST, port = PORT] = services.get(`${HOST}:${PORT}`)?.split(':') ?? [];
  const substitute = (value: string) => {
    const ownPort = ports.get(Number(value));
    if (ownPort !== undefined) return String(ownPort);
    const changed = [...services, ...folders].find(([from]) => value.includes(from));
    return changed === undefined ? value : value.replace(changed[0], changed[1]);
  };
  return Object.fromEntries(
    Object.entries({ ...(HOST && { HOST: host, PORT: port }), ...others }).map(([name, value]) => [
      name,
      substitute(value),
    ]),
  );
}

/** The containers' port behind each port of a Service, by `name:port`, and the pods it leads to. */
export function readServices(objects: readonly KubeObject[]) {
  return objects
    .filter(({ kind }) => kind === 'Service')
    .map(({ metadata, spec }) => {
      const { selector, ports } = spec as ServiceSpec;
      const [port] = ports;
      if (port === undefined) throw new Error(`the Service ${metadata.name} has no port`);
      return {
        address: `${metadata.name}:${port.port}`,
        portName: port.name,
        leadsTo: (labels: object) =>
          Object.entries(selector).every(
            ([name, value]) => (labels as Record<string, unknown>)[name] === value,
          ),
      };
    });
}
