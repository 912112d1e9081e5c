/** The same response; calls `ended` once, when its body has been sent or nobody reads it any more. */
export function whenEnded(response: Response, ended: () => void): Response {
  const reader = response.body?.getReader()
  if (!reader) {
    ended()
    return response
  }
  let isOver = false
  const end = () => {
    if (!isOver) ended()
    isOver = true
  }
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        end()
        controller.close()
      } catch (error) {
        end()
        controller.error(error)
      }
    },
    cancel(reason) {
      end()
      return reader.cancel(reason)
    },
  })
  return new Response(body, { status: response.status, headers: response.headers })
}
