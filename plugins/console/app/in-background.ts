// Starts tasks from event handlers and effects. These return no promise.

/** An error of the task goes to the browser's error log. */
export function inBackground(task: Promise<unknown>): void {
  task.catch(reportError)
}
