import type { CompiledAction, CompiledTemplate } from '../contracts/template.ts';
import {
  matchSegment,
  readSegments,
  readSteps,
  samplePathOf,
  segmentsOf,
  segmentCountMax,
  countSegments,
} from './segments.ts';
import type { Segment, Step, Values } from './segments.ts';

/** An operation that a request may mean, with the values of the parameters in its path. */
export interface FoundOperation {
  readonly action: CompiledAction;
  readonly pathValues: Values;
  readonly route: Route;
}

/**
 * The number of steps (some 10 ns each) that searches for operations may still take. Each search
 * subtracts its steps.
 */
export interface PathBudget {
  left: number;
}

interface RequestLine {
  readonly method: string;
  readonly path: string;
}

/** The steps that a search in one template may take when the caller gives no budget. */
export const stepsMax = 1_500_000;
const stepsPerComparison = 4;
const stepsPerCell = 2;
const stepsPerSegmentRead = 50;

/**
 * The most ways of reading one path that a search returns. A path has several only where several
 * parameters may contain `/`.
 */
const readingsMax = 16;

/**
 * The operations of a template that a request may mean, by its method and its path below the base
 * URL. A matching operation is left out when a narrower one matches too (`/users/me` before
 * `/users/{id}`). There are several when the template is ambiguous, as `/x/{a}/c` and `/x/b/{c}`
 * are for `/x/b/c`, or when parameters that may contain `/` can divide the path in several ways.
 * There are none when the search would take too long.
 */
export function findOperations(
  template: CompiledTemplate,
  { method, path }: RequestLine,
): FoundOperation[] {
  const budget = { left: stepsMax };
  const segments = readSegmentsWithin(path, budget);
  return lookUpOperations(template, method, { segments, ignoresCase: false, budget }) ?? [];
}

/** HEAD counts as GET, because servers route it to the GET operation. */
export function isSameMethod(left: string, right: string): boolean {
  return toAnsweredMethod(left) === toAnsweredMethod(right);
}

function toAnsweredMethod(method: string): string {
  return method === 'HEAD' ? 'GET' : method;
}

/**
 * An operation and its path. The path is parsed when it is first compared with a request path of
 * the same length.
 */
export interface Route {
  readonly action: CompiledAction;
  readonly length: number;
  /** Whether a parameter of the path may contain `/`. */
  readonly isOpen: boolean;
  steps: readonly Step[] | undefined;
  /** A request path that the operation matches. */
  sample: readonly Segment[] | undefined;
}

function toRoute(action: CompiledAction): Route {
  const isOpen = action.params.some((param) => param.in === 'path' && param.allowReserved);
  const length = countSegments(action.path);
  return { action, length, isOpen, steps: undefined, sample: undefined };
}

/**
 * Routes by method, computed once for each template: every request to its host is compared with all
 * of them.
 */
const knownRoutes = new WeakMap<CompiledTemplate, ReadonlyMap<string, readonly Route[]>>();

function routesOf(
  template: CompiledTemplate,
  budget: PathBudget,
): ReadonlyMap<string, readonly Route[]> {
  const knownRoute = knownRoutes.get(template);
  if (knownRoute !== undefined) return knownRoute;
  const routes = new Map<string, Route[]>();
  for (const action of Object.values(template.actions)) {
    const method = toAnsweredMethod(action.method);
    const routesOfMethod = routes.get(method) ?? [];
    routes.set(method, routesOfMethod);
    routesOfMethod.push(toRoute(action));
    budget.left -= 20 + action.params.length + (action.path.length >> 2);
  }
  knownRoutes.set(template, routes);
  return routes;
}

/** A request path, parsed for comparison with the paths of operations. */
export interface ParsedPath {
  readonly segments: readonly Segment[];
  readonly ignoresCase: boolean;
  readonly budget: PathBudget;
  /** The route of the operation that serves the path, when the search is for other operations. */
  readonly servedBy?: Route;
}

export function readSegmentsWithin(path: string, budget: PathBudget): Segment[] {
  const segments = budget.left < 0 ? [] : readSegments(path);
  budget.left -= path.length + stepsPerSegmentRead * segments.length;
  return segments;
}

/**
 * The matching operations. An operation is left out when another matching one, or `servedBy`, is
 * narrower. Undefined when the search would take more than the budget.
 */
export function lookUpOperations(
  template: CompiledTemplate,
  method: string,
  parsedPath: ParsedPath,
): FoundOperation[] | undefined {
  const { budget, servedBy } = parsedPath;
  if (budget.left < 0) return undefined;
  const routes = routesOf(template, budget).get(toAnsweredMethod(method)) ?? [];
  const fittingOperations: FoundOperation[] = [];
  for (const route of routes) {
    budget.left -= 1;
    const readings = readingsOf(route, parsedPath);
    if (readings === undefined || budget.left < 0) return undefined;
    for (const pathValues of readings) {
      fittingOperations.push({ action: route.action, pathValues, route });
    }
  }
  // Hundreds of operations may share one path, as in GraphQL.
  const routesByPath = new Map(fittingOperations.map(({ route }) => [route.action.path, route]));
  const narrowRoutes = servedBy === undefined ? [...routesByPath.values()] : [servedBy];
  const widePaths = new Set<string>();
  for (const [path, wide] of routesByPath) {
    if (narrowRoutes.some((each) => isNarrower(each, wide, parsedPath))) widePaths.add(path);
  }
  if (budget.left < 0) return undefined;
  return fittingOperations.filter(({ action }) => !widePaths.has(action.path));
}

/** Whether the path of an action is narrower than that of another action, in any letter case. */
export function isNarrowerPath(action: CompiledAction, other: CompiledAction): boolean {
  const budget = { left: stepsMax };
  return isNarrower(toRoute(action), toRoute(other), { ignoresCase: true, budget });
}

type Comparison = Pick<ParsedPath, 'ignoresCase' | 'budget'>;

/**
 * Whether every path that matches `route` also matches `other`, but not the other way round. The
 * number of parameters beside a parameter that may contain slashes decides nothing:
 * `/job/{folder}/delete` may be meant where `/job/{folder}/{build}/delete` fits.
 */
function isNarrower(route: Route, other: Route, comparison: Comparison): boolean {
  if (!covers(other, route, comparison) || covers(route, other, comparison)) return false;
  return !other.isOpen || countFixed(route) > countFixed(other);
}

function countFixed({ action }: Route): number {
  return segmentsOf(action.path).filter((segment) => !segment.includes('{')).length;
}

function covers(route: Route, other: Route, { ignoresCase, budget }: Comparison): boolean {
  budget.left -= stepsPerComparison;
  if (budget.left < 0) return false;
  other.sample ??= readSegmentsWithin(samplePathOf(other.action), budget);
  const readings = readingsOf(route, { segments: other.sample, ignoresCase, budget });
  if (readings === undefined) budget.left = -1;
  return readings !== undefined && readings.length > 0;
}

/** Every way in which a request path matches the operation's path, up to a limit. */
function readingsOf(route: Route, parsedPath: ParsedPath): Values[] | undefined {
  const { segments, budget } = parsedPath;
  const spareCount = segments.length - route.length;
  if (spareCount < 0 || (spareCount > 0 && !route.isOpen)) return [];
  // A template that an earlier release compiled may have a longer path, which matches no request.
  if (route.length > segmentCountMax) return undefined;
  if (route.steps === undefined) {
    route.steps = readSteps(route.action);
    budget.left -= stepsPerSegmentRead * route.length;
  }
  if (spareCount === 0) return readInOrder(route.steps, parsedPath);
  const cost = stepsPerCell * route.length * segments.length;
  if (cost > budget.left) return undefined;
  budget.left -= cost;
  return readOpenPath(route.steps, parsedPath);
}

/** Matches two paths with the same number of segments, segment by segment. */
function readInOrder(
  expectedSteps: readonly Step[],
  { segments, ignoresCase, budget }: ParsedPath,
): Values[] {
  const values: Record<string, string> = {};
  for (const [at, step] of expectedSteps.entries()) {
    budget.left -= stepsPerComparison;
    const segment = segments[at];
    const matchedValues = segment && matchSegment(step, segment, ignoresCase);
    if (matchedValues === undefined) return [];
    Object.assign(values, matchedValues);
  }
  return [values];
}

/** Matches a path whose parameters may contain `/`. */
function readOpenPath(
  expectedSteps: readonly Step[],
  parsedPath: ParsedPath,
): Values[] | undefined {
  const { segments, ignoresCase, budget } = parsedPath;
  const fitTable = fitsFrom(expectedSteps, parsedPath);
  const readings: Values[] = [];
  // Takes only steps after which the remaining path matches, so every step is part of a result.
  const read = (stepIndex: number, from: number, values: Values): void => {
    const step = expectedSteps[stepIndex];
    if (step === undefined) {
      readings.push(values);
      return;
    }
    const longestMatch = step.isOpen ? segments.length - from : 1;
    for (let length = 1; length <= longestMatch && readings.length < readingsMax; length += 1) {
      budget.left -= 1;
      if (budget.left < 0) return;
      if (!fitTable(stepIndex + 1, from + length)) continue;
      budget.left -= stepsPerComparison * length;
      const segmentRun = segments.slice(from, from + length);
      const matchedValues = matchSegment(step, joinSegments(segmentRun), ignoresCase);
      if (matchedValues) read(stepIndex + 1, from + length, { ...values, ...matchedValues });
    }
  };
  if (fitTable(0, 0)) read(0, 0, {});
  return readings;
}

function joinSegments(segments: readonly Segment[]): Segment {
  const [only] = segments;
  if (only !== undefined && segments.length === 1) return only;
  const joinTexts = (name: keyof Segment) => segments.map((each) => each[name]).join('/');
  return {
    text: joinTexts('text'),
    plain: joinTexts('plain'),
    folded: joinTexts('folded'),
    foldedPlain: joinTexts('foldedPlain'),
  };
}

/**
 * For each end part of the request path, computes which end parts of the template's path match it,
 * from the last segment back. Takes one step for each pair of segments, whatever the parameters
 * between them could contain.
 */
function fitsFrom(
  expectedSteps: readonly Step[],
  { segments, ignoresCase }: ParsedPath,
): (at: number, from: number) => boolean {
  const width = segments.length + 1;
  const fitTable = new Uint8Array((expectedSteps.length + 1) * width);
  fitTable[expectedSteps.length * width + segments.length] = 1;
  for (let stepIndex = expectedSteps.length - 1; stepIndex >= 0; stepIndex -= 1) {
    const step = expectedSteps[stepIndex];
    let isAnyAfter = false;
    for (let from = segments.length - 1; from >= stepIndex; from -= 1) {
      isAnyAfter ||= fitTable[(stepIndex + 1) * width + from + 1] === 1;
      const segment = segments[from];
      if (step === undefined || segment === undefined) continue;
      const isFitting = step.isOpen
        ? isAnyAfter
        : fitTable[(stepIndex + 1) * width + from + 1] === 1 &&
          matchSegment(step, segment, ignoresCase) !== undefined;
      if (isFitting) fitTable[stepIndex * width + from] = 1;
    }
  }
  return (at, from) => fitTable[at * width + from] === 1;
}
