import { monitorEventLoopDelay } from 'node:perf_hooks';

import { observe } from './metrics.ts';

const samplingMs = 20;
const nanosecondsPerSecond = 1e9;

/** Reports the event-loop delay, the CPU time and the memory of this process. */
export function observeProcess(): Disposable {
  const stack = new DisposableStack();
  const delays = monitorEventLoopDelay({ resolution: samplingMs });
  delays.enable();
  stack.defer(() => void delays.disable());
  stack.use(
    observe('nodejs.eventloop.delay', () => {
      // The histogram measures the time between two samples. The sampling interval is no delay, so
      // it is subtracted.
      const secondsAt = (quantile: number) =>
        Math.max(0, delays.percentile(quantile * 100) / nanosecondsPerSecond - samplingMs / 1_000);
      const observations = [0.5, 0.99, 1].map((quantile) => ({
        value: secondsAt(quantile),
        labels: { quantile: String(quantile) },
      }));
      delays.reset();
      return observations;
    }),
  );
  stack.use(
    observe('process.cpu.time', () => {
      const { user, system } = process.cpuUsage();
      return [{ value: (user + system) / 1e6, labels: {} }];
    }),
  );
  stack.use(
    observe('process.memory.usage', () => [{ value: process.memoryUsage.rss(), labels: {} }]),
  );
  return stack;
}
