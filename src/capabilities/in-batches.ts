/** How many files are open at once: enough to keep the disk busy, few enough never to run out of handles. */
const BATCH = 64

/** Works on all items, a batch at a time, and answers in their order. */
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
