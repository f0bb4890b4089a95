package openlineage.pyspark;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.JsonGeneratorDelegate;
import java.io.IOException;
import java.io.StringWriter;

/** A generator of JSON into a text, by the Jackson that Spark ships. No text of it holds a line break. */
final class JsonText extends JsonGeneratorDelegate {
  /** What is above is escaped: a surrogate may stand alone in a text of Java, and can't be sent as UTF-8 then. */
  private static final int HIGHEST_PLAIN = 0xd7ff;
  private static final JsonFactory FACTORY = new JsonFactory().setRootValueSeparator(null);
  private final StringWriter text;

  JsonText() throws IOException {
    this(new StringWriter());
  }

  private JsonText(StringWriter text) throws IOException {
    super(FACTORY.createGenerator(text));
    this.text = text;
    setHighestNonEscapedChar(HIGHEST_PLAIN);
  }

  /** The beginning of a record of this kind. */
  static JsonText record(String kind) throws IOException {
    JsonText record = new JsonText();
    record.writeStartObject();
    record.writeStringField("k", kind);
    return record;
  }

  /** Write a field whose value is JSON already. */
  void writeRawField(String name, String json) throws IOException {
    writeFieldName(name);
    writeRawValue(json);
  }

  /** How many characters were written since the last `next`. */
  long length() {
    return (long) text.getBuffer().length() + getOutputBuffered();
  }

  /** What was written since the last call; the next value begins anew. */
  String next() throws IOException {
    flush();
    String written = text.toString();
    text.getBuffer().setLength(0);
    return written;
  }

  /** Close what is open, and return the text. */
  String end() throws IOException {
    close();
    return text.toString();
  }

  static String cut(String s, int most) {
    return s == null || s.length() <= most ? s : s.substring(0, most) + "...";
  }
}
