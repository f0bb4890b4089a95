package openlineage.pyspark;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * Ends the runs of a driver whose Python process was killed. The JVM outlives that process by a moment: its shutdown
 * hook starts another Python process, which delivers the terminal events. Nothing in the killed process has to handle a
 * signal.
 */
final class LastWords extends Thread {
  // If the whole process group gets a signal, Python dies at the same moment.
  private static final long MILLIS_TO_DIE = 300L;
  private static final long STEP = 10L;
  private final String[] command;
  private final long python;
  private final long seconds;
  // The login of the receiver is in a file in memory, which disappears when nobody has it open. It is never read here,
  // so no heap dump contains it.
  private final InputStream kept;
  private volatile String words = "";

  LastWords(long python, String[] command, String kept, long seconds) throws IOException {
    super("openlineage-last-words");
    this.command = command;
    this.python = python;
    this.seconds = seconds;
    this.kept = new FileInputStream(kept);
  }

  /** Replaces the last words; empty if there are none. */
  void set(String words) {
    this.words = words;
  }

  public void run() {
    try {
      if (words.length() > 0 && hasDied()) say();
    } catch (IOException problem) {
      System.err.println("openlineage: the end of the application could not be reported: " + problem.getMessage());
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean hasDied() throws InterruptedException, IOException {
    if (!new File("/proc/self/stat").exists()) return false;
    for (long waited = 0L; waited < MILLIS_TO_DIE; waited += STEP) {
      if (isDead()) return true;
      Thread.sleep(STEP);
    }
    return false;
  }

  private boolean isDead() throws IOException {
    File stat = new File("/proc/" + python + "/stat");
    if (!stat.exists()) return true;
    byte[] content = new byte[1024];
    InputStream in = new FileInputStream(stat);
    try {
      int length = Math.max(0, in.read(content));
      String text = new String(content, 0, length, "ISO-8859-1");
      // The name before it may contain anything. A zombie is dead; its parent has not read its status yet.
      int state = text.lastIndexOf(')') + 2;
      return state >= text.length() || text.charAt(state) == 'Z' || text.charAt(state) == 'X';
    } catch (IOException gone) {
      return true;
    } finally {
      in.close();
    }
  }

  private void say() throws IOException, InterruptedException {
    ProcessBuilder builder = new ProcessBuilder(Arrays.asList(command));
    // Nobody but root may put something there.
    builder.directory(new File("/"));
    builder.redirectOutput(ProcessBuilder.Redirect.to(new File("/dev/null")));
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    Process process = builder.start();
    OutputStream out = process.getOutputStream();
    try {
      out.write(words.getBytes("UTF-8"));
    } finally {
      out.close();
    }
    if (!process.waitFor(seconds, TimeUnit.SECONDS)) process.destroyForcibly();
    kept.close();
  }
}
