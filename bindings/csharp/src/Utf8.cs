using System;
using System.Text;

namespace Viaduct
{
    /// <summary>Texts as the library has them: UTF-8, ended by a 0.</summary>
    internal static class Utf8
    {
        private static readonly UTF8Encoding Strict = new UTF8Encoding(false, true);

        /// <summary>Refuses a text with a NUL character, or one that UTF-8 cannot encode.</summary>
        internal static byte[] Bytes(string text, string parameter)
        {
            if (text == null)
            {
                throw new ArgumentNullException(parameter);
            }
            if (text.IndexOf('\0') >= 0)
            {
                throw new ViaInvalidArgumentException(
                    parameter + " has a NUL character inside; expected a text without one");
            }
            try
            {
                return Strict.GetBytes(text + '\0');
            }
            catch (EncoderFallbackException refused)
            {
                throw new ViaInvalidArgumentException(
                    parameter + " has half of a surrogate pair; expected characters", 0, refused);
            }
        }

        internal static unsafe string Text(IntPtr text)
        {
            byte* start = (byte*)text;
            int length = 0;
            while (start[length] != 0)
            {
                ++length;
            }
            return Encoding.UTF8.GetString(start, length);
        }

        internal static unsafe string Text(byte[] buffer)
        {
            fixed (byte* start = buffer)
            {
                return Text((IntPtr)start);
            }
        }
    }
}
