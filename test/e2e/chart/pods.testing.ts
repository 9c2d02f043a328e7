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
 * Writes the files of Secrets that the kubelet would mount into the pod's first container, below a
 * local folder. Returns the local folder of each mount path. Throws if a Secret or key does not
 * exist, because the kubelet would then not start the pod.
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

/**
 * The environment variables for the Services of a namespace, which the kubelet adds to every pod.
 */
export function kubeletVariables(objects: readonly KubeObject[]): Record<string, string> {
  const services = objects.filter(({ kind }) => kind === 'Service');
  const ownVariables = services.map(({ metadata, spec }) =>
    variablesOf(
      metadata.name,
      '10.96.0.12',
      (spec as ServiceSpec).ports.map((port) => ({ ...port, protocol: 'TCP' })),
    ),
  );
  // Services of other programs. The names of their variables begin like settings of the gateway.
  const otherVariables = ['kubernetes', 'gateway', 'auth', 'nats', 'health', 'oauth'].map((name) =>
    variablesOf(name, '10.96.0.13', [{ name: 'http', port: 8080, protocol: 'TCP' }]),
  );
  return Object.assign({}, ...ownVariables, ...otherVariables) as Record<string, string>;
}

/** The local replacements for what a pod has only in a cluster. */
export interface Substitutes {
  /**
   * The local port for each container port. All replicas share the machine's addresses, so ports
   * differ.
   */
  readonly ports: ReadonlyMap<number, number>;
  /**
   * The local `host:port` for each `name:port` of a Service, because there is no DNS of a cluster.
   */
  readonly services: ReadonlyMap<string, string>;
  /** The local folder for each mount path of Secrets. */
  readonly folders: ReadonlyMap<string, string>;
}

/** Returns the variables of the pod's container with these substitutes, otherwise unchanged. */
export function localEnvironmentOf(
  pod: PodSpec,
  { ports, services, folders }: Substitutes,
): Record<string, string> {
  const { HOST = '', PORT = '', ...others } = environmentOf(pod);
  // In components other than the gateway, `HOST` and `PORT` are the address of the gateway's
  // Service.
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

/**
 * Returns each Service: its address (`name:port`), the name of its port, and a function that tells
 * whether the Service leads to a pod with these labels.
 */
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
