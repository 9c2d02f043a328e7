import { settings } from '#config';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { interpolate, readComposeFile } from './compose-file.ts';
import type { ComposeFile, ComposeService } from './compose-file.ts';

/** A process of docker-compose.yml in the form in which the chart runs it. */
export interface ChartProcess {
  readonly name: string;
  readonly args: readonly string[];
  readonly user: number;
  /**
   * The variables with values that compose fixes, such as the paths of secrets. `{release}` stands
   * for the name of the installation.
   */
  readonly fixed: Readonly<Record<string, string>>;
  /** The names of the settings that the operator may set. values.yaml has them under `settings`. */
  readonly settings: readonly string[];
  /** The keys of the process's Secret. Each key is a file in `/run/secrets`. */
  readonly secrets: readonly string[];
  /** The sizes of temporary folders; the keys are their paths. */
  readonly temporary: Readonly<Record<string, string>>;
  /** How long the process may take to stop, in seconds. */
  readonly stopSeconds: number;
  /** What the process requests and may use at most, in the notation of Kubernetes. */
  readonly resources: { readonly requests: Resources; readonly limits: Resources };
}
interface Resources {
  readonly cpu: string;
  readonly memory: string;
}

/** A component or the migration. */
export interface ChartComponent extends ChartProcess {
  readonly replicas: number;
  /** The port for health checks and metrics; 0 for the migration. */
  readonly healthPort: number;
  /**
   * The port of the component's Service, and the components that may call it. If `callers` is
   * empty, everybody may call it.
   */
  readonly listens: { name: string; port: number; callers: readonly string[] } | null;
  /**
   * The components that this component calls directly, with their ports. It reaches all others over
   * NATS.
   */
  readonly calls: readonly { readonly name: string; readonly port: number }[];
  readonly usesBus: boolean;
  readonly usesDatabase: boolean;
  /** Whether the component sends requests to addresses on the internet. */
  readonly callsOut: boolean;
  /** Whether the component reads a folder of templates that the operator provides. */
  readonly readsTemplates: boolean;
  /** Whether the component gets the operator's apps at OAuth providers. */
  readonly hasProviderApps: boolean;
  /**
   * The label `pool` of the metric `aag.slots.used`, by which the component can be scaled. Empty if
   * there is none.
   */
  readonly slots: string;
}

/** Postgres or NATS, which the chart runs only for an evaluation. */
export interface ChartServer extends ChartProcess {
  readonly image: string;
  readonly port: number;
  readonly command: readonly string[];
  readonly healthCommand: readonly string[];
  /** The folder whose content must survive a restart of the pod. */
  readonly dataPath: string;
  readonly storage: string;
  /**
   * A file of the gateway's image that the server reads, and the folder into which it is mounted.
   * Null if there is none.
   */
  readonly file: { readonly source: string; readonly folder: string } | null;
}

export interface ChartModel {
  readonly components: readonly ChartComponent[];
  readonly migrate: ChartComponent;
  readonly servers: readonly ChartServer[];
  /** The names of all settings in values.yaml. */
  readonly settings: readonly (keyof typeof settings)[];
}

/**
 * Reads from docker-compose.yml what the chart contains. Throws if it cannot interpret something
 * there.
 */
export function readChartModel(compose: ComposeFile = readComposeFile()): ChartModel {
  const chartComponents = components.map((name) => readComponent(name, compose));
  const migrate = readComponent('migrate', compose);
  const usedSettings = new Set([...chartComponents, migrate].flatMap((each) => each.settings));
  return {
    components: chartComponents,
    migrate,
    servers: ['postgres', 'nats'].map((name) => readServer(name, compose)),
    settings: (Object.keys(settings) as (keyof typeof settings)[]).filter((name) =>
      usedSettings.has(name),
    ),
  };
}

function getService(name: string, { services }: ComposeFile): ComposeService {
  const service = services[name];
  if (service === undefined) throw new Error(`docker-compose.yml has no service ${name}.`);
  return service;
}

function readComponent(name: Component | 'migrate', compose: ComposeFile): ChartComponent {
  const service = getService(name, compose);
  const chartProcess = readProcess(name, compose);
  const { replicas = 1, slots = '' } = service['x-helm'] ?? {};
  const calls = components.flatMap((callee) => {
    const listens = readListens(callee, compose);
    return listens?.callers.includes(name) === true ? [{ name: callee, port: listens.port }] : [];
  });
  const hasSecret = (ending: string) => chartProcess.secrets.some((each) => each.endsWith(ending));
  return {
    ...chartProcess,
    replicas,
    healthPort: Number(chartProcess.fixed['HEALTH_PORT'] ?? 0),
    listens: readListens(name, compose),
    calls,
    usesBus: hasSecret('NATS_URL'),
    usesDatabase: hasSecret('DATABASE_URL'),
    callsOut: hasSecret('EGRESS_PROXY'),
    readsTemplates: service.environment?.['TEMPLATES_DIR'] !== undefined,
    hasProviderApps: service.env_file !== undefined,
    slots,
  };
}

function readListens(name: string, compose: ComposeFile): ChartComponent['listens'] {
  const service = getService(name, compose);
  const listens = service['x-helm']?.listens;
  if (listens === undefined) return null;
  const port = Number(interpolate(String(service.environment?.[listens.at]), {}));
  return { name: listens.name, port, callers: listens.callers ?? [] };
}

function readServer(name: string, compose: ComposeFile): ChartServer {
  const service = getService(name, compose);
  const { port = 0, storage = '' } = service['x-helm'] ?? {};
  const mounts = (service.volumes ?? []).map((volume) => volume.split(':'));
  const [, dataPath = ''] = mounts.find(([source]) => source === name) ?? [];
  const [source, target] = mounts.find(([path = '']) => path.startsWith('./')) ?? [];
  const [, ...healthCommand] = service.healthcheck?.test ?? [];
  return {
    ...readProcess(name, compose),
    image: service.image ?? '',
    port,
    storage,
    command: (service.entrypoint ?? []).map((each) => interpolate(each, {})),
    healthCommand,
    dataPath,
    file:
      source === undefined || target === undefined
        ? null
        : { source: source.slice('./'.length), folder: target.slice(0, target.lastIndexOf('/')) },
  };
}

function readProcess(name: string, compose: ComposeFile): ChartProcess {
  const service = getService(name, compose);
  const fixed: Record<string, string> = {};
  const settingNames: string[] = [];
  for (const [variable, value] of Object.entries(service.environment ?? {})) {
    const text = String(value);
    if (variable === 'TEMPLATES_DIR') continue;
    if (text.includes(`\${${variable}:-`) && variable !== 'PORT') settingNames.push(variable);
    else
      fixed[variable] = variable in settings ? nameServices(interpolate(text, {}), compose) : text;
  }
  const requests = service['x-helm']?.requests;
  if (requests === undefined) throw new Error(`${name} has no x-helm.requests.`);
  return {
    name,
    args: service.command ?? [],
    user: Number.parseInt(service.user ?? '', 10),
    fixed,
    settings: settingNames,
    secrets: service.secrets ?? [],
    temporary: {
      ...Object.fromEntries((service.tmpfs ?? []).map(readTemporary)),
      ...(service.shm_size && { '/dev/shm': toKubernetesBytes(service.shm_size) }),
    },
    stopSeconds: Number.parseInt(interpolate(service.stop_grace_period ?? '', {}), 10),
    resources: {
      requests,
      limits: { cpu: String(service.cpus), memory: toKubernetesBytes(service.mem_limit ?? '') },
    },
  };
}

/** Replaces the name of a compose service in a value by the name of its Kubernetes Service. */
function nameServices(value: string, { services }: ComposeFile): string {
  const [, scheme = '', host = '', port = ''] = /^(http:\/\/)?([a-z]+)(:\d+)?$/.exec(value) ?? [];
  const isService = services[host]?.['x-helm']?.listens !== undefined;
  return isService ? `${scheme}{release}-${host}${port}` : value;
}

function readTemporary(entry: string): [path: string, size: string] {
  const [path = '', size = ''] = entry.split(':size=');
  return [path, toKubernetesBytes(size)];
}

/** Writes a size of compose for Kubernetes: `64m` becomes `64Mi`, and `1g` becomes `1Gi`. */
function toKubernetesBytes(text: string): string {
  const [, digits, unit] = /^(\d+)([mg])$/.exec(text) ?? [];
  if (digits === undefined) throw new Error(`"${text}" is not a size such as 64m or 1g.`);
  return `${digits}${unit === 'g' ? 'Gi' : 'Mi'}`;
}
