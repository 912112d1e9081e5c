/** Maximum files open at once: enough to keep the disk busy without running out of handles. */
const BATCH = 64

/** Processes all items in batches and returns the results in order. */
export async function inBatches<Item, Answer>(
  items: readonly Item[],
  work: (item: Item) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let start = 0; start < items.length; start += BATCH) {
    answers.push(...(await Promise.all(items.slice(start, start + BATCH).map(work))))
  }
  return answers
}
